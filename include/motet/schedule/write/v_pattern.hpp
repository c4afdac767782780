// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

namespace detail {

// The slots say when a device begins the four parts of its first microbatch: down and up the V forward, up
// and down again backward. Each repeats every six slots; the two weight parts take the slots between.
struct v_slots {
  int down, up, back_up, back_down;
};

// Plays such a pattern in steps of equal time: the next of the four as soon as it is there, else a weight
// part. So the pattern decides how much is kept, and weight parts fill what is idle at both ends. `room`
// counts microbatches of one chunk.
template <class Slots>
constexpr score write_pattern(const pipeline_shape& p, int room, Slots slots_of) {
  constexpr op parts[] = {op::forward, op::backward_input, op::backward_weight};
  const int devices = p.stages, all = p.microbatches, last = 2 * devices - 1, own = 2 * all, never = 1 << 30;
  list<int> forward_ends(2 * isize{devices} * all, never),
      backward_ends = forward_ends, pending = forward_ends, orders(3 * forward_ends.size());
  list<int> done(4 * isize{devices}), steps(devices), inputs = steps, weights = steps;
  const auto put = [&](int d, int what, int cell) {
    orders[3 * isize{own} * d + steps[d]++] = 3 * cell + what;
  };
  isize left = orders.size();
  for (int now = 0; left > 0; ++now) {
    for (int d = 0; d < devices; ++d) {
      const v_slots slots = slots_of(d);
      const int begins[] = {slots.down, slots.up, slots.back_up, slots.back_down};
      int part = -1, begin = never;
      for (int k = 0; k < 4; ++k) {
        const int ran = done[4 * d + k];
        if (ran == all || begins[k] + 6 * ran >= begin) continue;
        begin = begins[k] + 6 * ran;
        part = k;
      }
      const bool spare = weights[d] < inputs[d];
      if (part >= 0) {
        const bool forward = part < 2;
        const int stage = part == 0 || part == 3 ? d : last - d, cell = stage * all + done[4 * d + part];
        const int there = !forward    ? stage == last ? forward_ends[cell] : backward_ends[cell + all]
                             : stage > 0 ? forward_ends[cell - all]
                                      : 0;
        const int kept = done[4 * d] + done[4 * d + 1] - weights[d];
        if (there <= now && !(forward && spare && kept == room)) {
          (forward ? forward_ends : backward_ends)[cell] = now + 1;
          if (!forward) pending[isize{own} * d + inputs[d]++] = cell;
          put(d, forward ? 0 : 1, cell);
          ++done[4 * d + part];
          --left;
          continue;
        }
      }
      if (!spare) continue;
      put(d, 2, pending[isize{own} * d + weights[d]++]);
      --left;
    }
  }
  score out;
  const int tower = add_voice(out, p, 2, placement::vee);
  for (int d = 0; d < devices; ++d) {
    out.rank();
    for (isize i = 3 * isize{own} * d; i < 3 * isize{own} * (d + 1); ++i)
      out.play(parts[orders[i] % 3], tower, orders[i] / 3 / all, orders[i] / 3 % all);
  }
  return out;
}

constexpr isize pattern_work(const pipeline_shape& p) { return p.cells() + isize{p.stages} * p.stages / 2; }

constexpr verdict check_pattern(const pipeline_shape& p, int memory) {
  if (const verdict found = check_counts(p, 2); !found.ok()) return found;
  if (p.memory != 0 && p.memory < memory) return {reason::too_little_memory, 3, p.memory, memory};
  return {};
}

}  // namespace detail

// Half the memory of 1F1B and half its bubble (Qi et al., NeurIPS'24): zb_v's placement with forwards further
// apart.
// Asks for: two chunks on each device; with `memory`, at least what keeps() says.
// Memory: keeps() microbatches on each device: half of the stages, and one.
// Errors: MT-P01, MT-P07, MT-P10, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(v_half::keeps(four) == 3 && v_min::keeps(four) == 2);
//   const score order = v_half::write(four);
struct v_half {
  static constexpr const char* name = "v_half";
  using shape = pipeline_shape;
  static constexpr int keeps(const shape& p) { return p.stages / 2 + 1; }
  static constexpr verdict check(const shape& p) { return detail::check_pattern(p, keeps(p)); }
  static constexpr isize work(const shape& p) { return detail::pattern_work(p); }
  static constexpr score write(const shape& p) {
    const int all = p.stages;
    return detail::write_pattern(p, 2 * keeps(p), [=](int d) {
      return detail::v_slots{2 * d, 3 * all - d - 2, 3 * all + 2 * d - 1, 6 * all - d - 2};
    });
  }
};

// A third of the memory of 1F1B, two thirds of its bubble. Stages of unequal times disturb it most.
struct v_min {
  static constexpr const char* name = "v_min";
  using shape = pipeline_shape;
  static constexpr int keeps(const shape& p) { return (p.stages + 1) / 3 + 1; }
  static constexpr verdict check(const shape& p) { return detail::check_pattern(p, keeps(p)); }
  static constexpr isize work(const shape& p) { return detail::pattern_work(p); }
  static constexpr score write(const shape& p) {
    const int all = p.stages, gap = all % 3 == 0 ? 2 : 0;
    return detail::write_pattern(p, 2 * keeps(p), [=](int d) {
      return detail::v_slots{d, 2 * all - d - 1, 2 * all + gap + d, 4 * all + gap - d - 1};
    });
  }
};

}  // namespace motet
