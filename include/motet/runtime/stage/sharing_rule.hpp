// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/plan/order/long_rows_of_step.hpp>
#include <motet/strategy/sample_parts.hpp>
#include <motet/strategy/sample_split.hpp>

namespace motet {

// The ranks of a module share the samples of a step like this, and rows cost them so much.
struct sharing_rule {
  sample_split split;
  isize tensor = 1, context = 1;
  bool balanced = false;
  row_costs costs{};
};

// The sequences of some samples, and which of them each sample has.
struct counted_sequences {
  sequences rows;
  sample_bounds bounds{};
};

namespace detail {

// visit(cell, home, rows): the sequences of some samples that the ranks of a microbatch share; a cell for
// each tensor member.
template <class Visit>
void each_seat(const sharing_rule& by, const counted_sequences& of, interval samples, Visit&& visit) {
  for (isize t = 0; t < by.tensor; ++t) {
    const interval sharing = samples_of_rank(samples, by.tensor, t, 1, 0);
    for (isize s = sharing.begin; s < sharing.end; ++s)
      for (isize k = of.bounds.at(s); k < of.bounds.at(s + 1); ++k)
        visit(t, owner(sharing.size(), by.context, s - sharing.begin), of.rows.rows_of(k));
  }
}

}  // namespace detail

// The samples of a step in their seats. Ranks have room for what they would have of the most samples, as long
// as any can be, if all were cut: so dry runs of that find memory enough. longest: rows of each sequence of a
// sample that is as long as any.
inline seated_rows seats_of_step(const sharing_rule& by, const counted_sequences& step,
                                 const list<isize>& longest) {
  seated_rows out;
  out.cut = {.parts = by.context, .balanced = by.balanced};
  const sample_split& split = by.split;
  isize turn = 0;
  for (isize r = 0; r < split.replicas; ++r) {
    isize most = 0;
    for (isize g = 0; g < split.groups; ++g)
      for (isize m = 0; m < split.microbatches; ++m) most = std::max(most, split.of(g, r, m).size());
    for (isize g = 0; g < split.groups; ++g)
      for (isize m = 0; m < split.microbatches; ++m, ++turn) {
        detail::each_seat(by, step, split.of(g, r, m), [&](isize t, isize home, isize rows) {
          out.samples.push({rows, static_cast<std::int32_t>(turn),
                            static_cast<std::int32_t>(turn * by.tensor + t),
                            static_cast<std::int32_t>(home)});
        });
        for (isize t = 0; t < by.tensor; ++t)
          for (isize c = 0; c < by.context; ++c) {
            isize room = 0;
            for (const isize rows : longest)
              room += share(most, by.tensor, t).size() * out.cut.rows_of(rows, c);
            out.room.push(room);
          }
      }
  }
  return out;
}

}  // namespace motet
