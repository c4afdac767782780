// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

// The times are what one microbatch takes on one device, in any unit. They are whole numbers, so that every
// rank and every compiler works out the same order.
struct step_times {
  int forward = 1;
  int backward_input = 1;
  int backward_weight = 1;
  int transfer = 0;  // of rows or gradients to a neighbour
  friend constexpr bool operator==(const step_times&, const step_times&) = default;
};

// A schedule that is tuned to known times: tuned<zb_v, step_times{.forward = 10, .backward_input = 12,
// .backward_weight = 8}>.
template <class Schedule, step_times Times>
struct tuned : Schedule {
  static constexpr isize work(const pipeline_shape& p) { return Schedule::search_work(p); }
  static constexpr score write(const pipeline_shape& p) { return Schedule::write(p, Times); }
};

// The length says how long a score of one voice takes: on the busiest device from its first computation to
// its last, and from the first of all to the last of all. Steps follow each other at the first distance where
// no device waits for all others between them, at the second where each does.
struct score_length {
  isize longest_device = 0;
  isize makespan = 0;
  friend constexpr bool operator<(const score_length& a, const score_length& b) {
    return a.longest_device < b.longest_device ||
           (a.longest_device == b.longest_device && a.makespan < b.makespan);
  }
};

// The shortest of the orders that were offered.
struct shortest_score {
  score order;
  score_length length{isize{1} << 60, 0};
  isize most_makespan = isize{1} << 60;  // longer ones are not taken

  constexpr void offer(score other, const list<step_times>& times);
};

// Plays a score in time, with `times` of each device. A microbatch of a device is divided evenly over its
// chunks, and the result is in the unit of `times` divided by the number of chunks. Compilers interpret it,
// as they do prove().
constexpr score_length measure(const score& of, const list<step_times>& times) {
  constexpr isize never = isize{1} << 60, is_weight = static_cast<isize>(op::backward_weight),
                  is_input = static_cast<isize>(op::backward_input),
                  is_backward = static_cast<isize>(op::backward);
  const voice& sings = of.voices()[0];
  const isize stages = sings.stages, row = sings.microbatches, ranks = of.ranks();
  list<isize> forward_ends(stages * row, never), backward_ends(stages * row, never), frees(ranks, 0),
      begins(ranks, -1), positions;
  for (std::int32_t r = 0; r < ranks; ++r) positions.push(of.begin_of(r));
  isize *const forwards = forward_ends.data(), *const backwards = backward_ends.data();
  const std::int64_t* const codes = of.codes().data();
  // Forwards go up the ranks and backwards down, so the ranks take turns in both directions.
  bool moved = true;
  for (isize sweep = 0; moved; ++sweep) {
    moved = false;
    for (isize k = 0; k < ranks; ++k) {
      const auto r = static_cast<std::int32_t>(sweep % 2 == 0 ? k : ranks - 1 - k);
      const step_times& own = times[r];
      const isize end = of.end_of(r);
      isize i = positions[r], free = frees[r];
      for (; i < end; ++i) {
        const isize code = codes[i], what = code & 31, s = code >> 23 & 0xfffff,
                    cell = s * row + (code >> 43);
        if (what == is_weight) {
          free += own.backward_weight;
          continue;
        }
        const bool back = what >= is_backward;
        const isize other = back ? s + 1 : s - 1;
        if (other >= 0 && other < stages) {
          const std::int32_t from = of.place(sings, static_cast<std::int32_t>(other));
          isize there = back ? backwards[cell + row] : forwards[cell - row];
          if (there == never) break;
          if (from != r) there += sings.chunks * times[from].transfer;
          if (there > free) free = there;
        }
        if (begins[r] < 0) begins[r] = free;
        free += !back              ? own.forward
                : what == is_input ? own.backward_input
                                   : own.backward_input + own.backward_weight;
        (back ? backwards : forwards)[cell] = free;
      }
      moved = moved || i != positions[r];
      positions[r] = i;
      frees[r] = free;
    }
  }
  score_length found;
  for (isize r = 0; r < ranks; ++r) {
    if (frees[r] - begins[r] > found.longest_device) found.longest_device = frees[r] - begins[r];
    if (frees[r] > found.makespan) found.makespan = frees[r];
  }
  return found;
}

constexpr void shortest_score::offer(score other, const list<step_times>& times) {
  const score_length found = measure(other, times);
  if (found.makespan > most_makespan || !(found < length)) return;
  order = std::move(other);
  length = found;
}

}  // namespace motet
