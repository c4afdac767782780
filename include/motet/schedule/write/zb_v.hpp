// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/write/greedy.hpp>
#include <motet/schedule/write/v_pattern.hpp>

namespace motet {

// Zero bubble in a V (Qi et al., NeurIPS'24): each device has two chunks, one on the way down and one on the
// way back up, so the last device that a forward reaches is the first to get memory back. With as much memory
// as 1F1B and from 2 * stages - 1 microbatches on, no device waits when the three parts take equal time. For
// other times it is the shortest of several orders, within less memory also of v_half and v_min.
// Asks for: two chunks on each device; times of the three parts as whole numbers, equal ones where none are
// given.
// Memory: as many microbatches on each device as 1F1B keeps on its first, or `memory` where that is less.
// Errors: MT-P01, MT-P07, MT-P10, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(zb_v::check(four).ok());
//   const score order = zb_v::write(four);
struct zb_v {
  static constexpr const char* name = "zb_v";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) {
    if (p.memory < 0) return {reason::too_little_memory, 3, p.memory, 1};
    return check_counts(p, 2);
  }

  static constexpr isize work(const shape& p) {
    return p.memory > 0 && p.memory < p.stages ? search_work(p)
                                               : 3 * p.cells() + isize{p.stages} * p.stages / 16;
  }
  static constexpr isize search_work(const shape& p) {
    return 22 * p.cells() + 3 * isize{p.stages} * p.stages;
  }

  static constexpr score write(const shape& p, const step_times& each = {}) {
    const int memory = p.memory > 0 ? least(p.memory, most(p.stages, p.microbatches)) : p.stages;
    const list<step_times> times(p.stages, each);
    const list<int> room(p.stages, 2 * memory);
    // With equal times, taking turns is known to be the best.
    score plain = write_greedy(p, 2, list<step_times>(p.stages), room, {.in_turn = true});
    if (each == step_times{} && memory >= p.stages) return plain;
    shortest_score best;
    best.offer(std::move(plain), times);
    offer_greedy(best, p, 2, times, room);
    if (memory >= v_half::keeps(p)) best.offer(v_half::write(p), times);
    if (memory >= v_min::keeps(p)) best.offer(v_min::write(p), times);
    return best.order;
  }
};

}  // namespace motet
