// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/write/greedy.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

namespace motet {

// Zero bubble within a memory limit and for given times (Qi et al., ICLR'24): as many forwards as fit before
// the first backward returns, then whatever keeps devices busy. The shortest of several orders, never longer
// than zb_h1 or zb_h2 where these fit.
// Asks for: one chunk on each device; times of the three parts and of a transfer as whole numbers, equal ones
// where none are given.
// Memory: at most `memory` microbatches on each device; with 0, as many as the first device can use.
// Errors: MT-P01, MT-P07, MT-P10, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8, .memory = 6};
//   const score order = zb_auto::write(four, {.forward = 10, .backward_input = 12, .backward_weight = 8});
struct zb_auto {
  static constexpr const char* name = "zb_auto";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) {
    if (p.memory < 0) return {reason::too_little_memory, 3, p.memory, 1};
    return check_counts(p);
  }

  static constexpr isize work(const shape& p) { return search_work(p); }
  static constexpr isize search_work(const shape& p) {
    return isize{p.stages} * (16 * isize{p.microbatches} + p.stages / 2);
  }

  static constexpr score write(const shape& p, const step_times& each = {}) {
    return write(p, list<step_times>(p.stages, each),
                 list<int>(p.stages, p.memory > 0 ? p.memory : likes(p, each)));
  }
  // Devices may differ: each has times of its own, and may keep so many microbatches.
  static constexpr score write(const shape& p, const list<step_times>& times, const list<int>& memory) {
    int smallest = memory[0];
    for (const int each : memory) smallest = least(smallest, each);
    shortest_score best;
    if (smallest >= 2 * p.stages - 1) best.offer(zb_h2::write(p), times);
    else if (smallest >= least(p.stages, p.microbatches)) best.offer(zb_h1::write(p), times);
    // Never longer than these, in both lengths.
    if (!best.order.codes().empty()) best.most_makespan = best.length.makespan;
    offer_greedy(best, p, 1, times, memory);
    return best.order;
  }

  // With no limit these are the forwards of the first device that fit before its first backward, as in zb_h2
  // for equal times.
  static constexpr int likes(const shape& p, const step_times& t) {
    const isize returns =
        isize{p.stages} * t.forward + (p.stages - 1) * (isize{t.backward_input} + 2 * isize{t.transfer});
    const isize fit = t.forward > 0 ? (returns + t.forward - 1) / t.forward : p.microbatches;
    return static_cast<int>(fit < p.microbatches ? fit : p.microbatches);
  }
};

}  // namespace motet
