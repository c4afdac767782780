// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/mixed_bits.hpp>
#include <motet/plan/cells/cell_planner.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <algorithm>
#include <string>

// Models, kinds of devices and cells that are drawn: data of the tests, always the same.

struct drawn_cell {
  motet::model_shape model;
  motet::cluster_facts kind;
  motet::isize samples = 0;
  motet::job_cell cell;
};

class cell_draws {
 public:
  explicit cell_draws(motet::isize towers) : towers_(towers) {}

  drawn_cell next() {
    drawn_cell out;
    out.model.name = "drawn";
    for (motet::isize k = 0; k < towers_; ++k) {
      motet::tower_outline made;
      made.name = k == 0 ? "a" : "b";
      made.layers = towers_ == 1 ? 4 + below(5) : 2 + below(4);
      made.width = motet::isize{512} << below(4);
      made.heads = made.width / 64;
      made.tokens = motet::isize{128} << below(4);
      made.vocabulary = below(2) == 0 ? 0 : 50000;
      made.embedding = towers_ == 1 ? 0 : 512;
      made.causal = true;
      out.model.towers.push(made);
    }
    constexpr const char* kinds[] = {"a100", "v100", "h100:8x2", "a100:8x4"};
    out.kind = motet::cluster_named(kinds[below(4)]);
    out.samples = motet::isize{64} << below(3);
    const motet::list<motet::job_cell> cells = job_cells(out.model, out.kind);
    out.cell = cells[below(cells.size())];
    return out;
  }

 private:
  motet::isize below(motet::isize bound) {
    return static_cast<motet::isize>(motet::mixed_bits(7 + drawn_++ * motet::golden_step) %
                                     static_cast<std::uint64_t>(bound));
  }
  motet::isize towers_;
  std::uint64_t drawn_ = 0;
};

// All cuts of the runs of layers into the stages of a cell.
template <class Visit>
void each_cut(motet::isize layers, std::int32_t stages, Visit visit) {
  std::vector<std::int32_t> ends(motet::as_size(stages));
  const auto cut = [&](auto& self, std::int32_t stage, std::int32_t first) -> void {
    if (stage == stages) return visit(ends);
    const auto all = static_cast<std::int32_t>(layers);
    for (std::int32_t last = stage + 1 == stages ? all : first + 1; last <= all - (stages - stage - 1);
         ++last) {
      ends[motet::as_size(stage)] = last;
      self(self, stage + 1, last);
    }
  };
  cut(cut, 0, 0);
}
inline motet::cell_plan cut_at(const std::vector<std::int32_t>& ends, std::int32_t data, std::int32_t tensor,
                               int microbatches) {
  motet::cell_plan out;
  out.microbatches = microbatches;
  std::int32_t first = 0;
  for (const std::int32_t last : ends) {
    out.stages.push({first, last, data, tensor});
    first = last;
  }
  return out;
}
