// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/cast_scores.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

namespace motet {

inline constexpr pipeline_shape three_stages{.stages = 3, .microbatches = 6};
// A sample for each microbatch, which brings so much.
inline step_headers bringing(const list<double>& work) {
  step_headers of;
  of.samples = static_cast<std::int32_t>(work.size());
  of.modules.push("talk");
  of.rows = of.work = work;
  return of;
}
// Three scores of one cast, on places that take as much for forward as for each half of backward.
struct three_scores {
  program all[3] = {compile(one_f_one_b::write(three_stages)), compile(gpipe::write(three_stages)),
                    compile(zb_h1::write(three_stages))};
  cast_scores scores{{&all[0], &all[1], &all[2]},
                     {sample_split{.samples = 6, .groups = 6}},
                     false,
                     list<stage_cost>(3, stage_cost{1, 1, 1})};

  // A step of a score, with its samples in this order, on places that are so many times as slow.
  timeline takes(std::int32_t score, const step_headers& of, const sample_order& order,
                 double times = 1) const {
    const program& by = all[score];
    cost_table costs;
    costs.stages = list<stage_cost>(3, stage_cost{times, times, times});
    costs.joins.resize(by.joins, 0.0);
    costs.updates.resize(3, 0.0);
    costs.reductions.resize(3, 0.0);
    costs.scale.resize(by.cells(), 0.0);
    const voice& sings = by.voices[0];
    for (std::int32_t s = 0; s < 3; ++s)
      for (std::int32_t m = 0; m < 6; ++m) costs.scale[sings.cell(s, m)] = of.work_of(0, order[m]);
    timeline when;
    simulate(by, costs, when);
    return when;
  }
};

}  // namespace motet
