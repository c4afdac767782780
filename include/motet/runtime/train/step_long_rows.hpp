// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_rows.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/sharing_rule.hpp>

#include <vector>

namespace motet {

// What rows of a module cost where nothing was measured, by constants, as all ranks have to choose alike:
// those of blocks of the usual form, as many and as wide as its own.
constexpr row_costs usual_row_costs(isize layers, isize width, isize parts) {
  const tower_outline blocks{.name = "blocks", .layers = layers, .width = width, .tokens = 64};
  return row_costs_of(blocks, static_cast<std::int32_t>(parts), row_rates{}, 4);
}

// Says from how many rows on samples are cut in the step under way, of each module whose plan leaves that to
// each step. Every rank finds it by the lengths of all samples of the step, which messages ask for as well.
class step_long_rows {
 public:
  step_long_rows(const model_outline& model, const program& of, const stage_groups& groups,
                 const std::vector<module_choice>& choices)
      : model_(model), found_(model.size()) {
    rules_.resize(model.size());
    for (const voice& sings : of.voices) {
      const auto k = as_size(sings.module);
      if (k >= choices.size() || choices[k].long_rows >= 0) continue;
      const net_outline& net = *model.nets[k];
      chosen& own = rules_[k];
      own.is = true;
      own.by.tensor = groups.tensor_of(sings);
      own.by.context = groups.context_of(sings);
      own.by.balanced = choices[k].balanced;
      own.by.costs = usual_row_costs(net.layers, net.width, own.by.context);
      const counted_sequences one = net.counted(nullptr);
      own.longest = {};
      for (isize s = 0; s < one.rows.samples; ++s) own.longest.push(one.rows.rows_of(s));
    }
  }

  // The inputs of a step and how its samples are split, module after module.
  void find(std::span<const void* const> inputs, const list<sample_split>& splits) {
    for (std::size_t k = 0; k < rules_.size(); ++k) {
      chosen& own = rules_[k];
      if (!own.is) continue;
      own.by.split = splits[static_cast<isize>(k)];
      found_[k] = find_long_rows(own.by.costs,
                                 seats_of_step(own.by, model_.nets[k]->counted(inputs[k]), own.longest));
    }
  }
  // What was found for each module; it stays where it is.
  const isize* all() const { return found_.data(); }
  // Cuts a step's input of a module.
  void cut(std::size_t module, any_microbatches& parts, const void* input) const {
    if (rules_[module].is) parts.keep_whole(found_[module]);
    parts.cut(input);
  }

 private:
  struct chosen {
    bool is = false;
    sharing_rule by{};
    list<isize> longest{};
  };
  const model_outline& model_;
  std::vector<chosen> rules_;
  std::vector<isize> found_;
};

}  // namespace motet
