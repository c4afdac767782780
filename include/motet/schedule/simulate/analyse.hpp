// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/live.hpp>
#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

// A rank's time goes into these parts, which add up to the makespan.
struct rank_time {
  double busy = 0;        // in the compute lane
  double warm_up = 0;     // before its first instruction
  double cool_down = 0;   // after its last
  double dependency = 0;  // waiting for another rank's computation
  double transfer = 0;    // waiting for rows that are on their way
  double sync = 0;        // waiting for other members of a join or a reduction
  constexpr double idle_inside() const { return dependency + transfer + sync; }
  constexpr double idle() const { return warm_up + cool_down + idle_inside(); }
};

struct analysis {
  list<rank_time> ranks;
  // of each rank, microbatches kept at once, in whole devices: one of two chunks counts a half
  list<double> peak_live;
  list<double> peak_bytes;           // of each rank
  list<double> joined;               // when each join of join 0, then 1, ... is done, group after group
  list<std::int32_t> critical_path;  // instructions from the start to the makespan
  double bubble_rate = 0;            // idle time of the ranks that compute, over their time
};

namespace detail {

// Files what a gap before instruction i was spent on, up to `end`: the last part on transfers that it waited
// for one behind the other, the rest on what those waited for.
constexpr void file_gap(const program& of, const timeline& when, std::int32_t i, double from, double end,
                        rank_time& into) {
  const auto meets = [&](std::int32_t k) {
    return of.instructions[k].what == op::join || of.instructions[k].what == op::reduce_gradient;
  };
  std::int32_t cause = when.after[i];
  const bool syncs = meets(i) || (cause >= 0 && meets(cause));
  double split = end;
  for (; cause >= 0 && split > from && is_transfer(of.instructions[cause].what); cause = when.after[cause])
    split = when.start[cause];
  split = split < from ? from : split;
  into.transfer += end - split;
  (syncs ? into.sync : into.dependency) += split - from;
}

}  // namespace detail

// It is told where the time of each rank goes and how much it keeps, and for which instructions the step
// waits.
// Asks for: a program, its costs, and when its instructions ran: from simulate(), or measured.
// Memory: some numbers for each rank, and the path's instructions.
// Errors: none of its own.
// Example:
//   double bubbles(const program& steps, const cost_table& costs) {
//     timeline when;
//     simulate(steps, costs, when);
//     return analyse(steps, costs, when).bubble_rate;
//   }
constexpr analysis analyse(const program& of, const cost_table& costs, const timeline& when) {
  analysis out;
  const std::int32_t ranks = of.ranks();
  double idle = 0;
  std::int32_t at_work = 0;
  for (std::int32_t r = 0; r < ranks; ++r) {
    rank_time own;
    double live = 0, bytes = 0, peak = 0, peak_bytes = 0;
    each_live_change(of, of.starts[r], of.starts[r + 1], [&](const instruction& it, int change) {
      const voice& sings = of.voices[it.voice];
      live += static_cast<double>(change) / sings.chunks;
      bytes += change * costs.stages[sings.first_place + it.stage].kept_bytes * costs.factor(sings, it);
      peak = live > peak ? live : peak;
      peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
    });
    double now = 0;
    bool began = false;
    for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
      const instruction& it = of.instructions[i];
      if (it.lane != lane::compute || is_transfer(it.what)) continue;
      // An update at no cost is not what a rank is there for.
      if (it.what == op::optimizer_step && when.finish[i] == when.start[i]) continue;
      if (it.paired && when.finish[i] == when.finish[i + 1]) continue;  // counted with its second
      if (!began) own.warm_up = when.start[i];
      else if (when.start[i] > now) detail::file_gap(of, when, i, now, when.start[i], own);
      began = true;
      own.busy += when.finish[i] - when.start[i];
      now = when.finish[i];
    }
    own.cool_down = when.makespan - now;
    if (began) {
      idle += own.idle();
      ++at_work;
    }
    out.ranks.push(own);
    out.peak_live.push(peak);
    out.peak_bytes.push(peak_bytes);
  }
  out.bubble_rate = at_work > 0 && when.makespan > 0 ? idle / (at_work * when.makespan) : 0;
  for (std::int32_t j = 0; j < of.joins; ++j) {
    list<double> ends;
    for (isize i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (it.what != op::join || it.voice != j) continue;
      if (ends.size() <= it.microbatch) ends.resize(it.microbatch + 1, 0);
      ends[it.microbatch] = when.finish[i] > ends[it.microbatch] ? when.finish[i] : ends[it.microbatch];
    }
    out.joined.append(ends.data(), ends.size());
  }
  // The path goes backwards from what ended last, over what each began behind.
  std::int32_t last = -1;
  for (isize i = 0; i < when.finish.size(); ++i)
    if (last < 0 || when.finish[i] > when.finish[last]) last = static_cast<std::int32_t>(i);
  for (; last >= 0; last = when.after[last]) out.critical_path.push(last);
  for (isize i = 0, k = out.critical_path.size() - 1; i < k; ++i, --k)
    std::swap(out.critical_path[i], out.critical_path[k]);
  return out;
}

}  // namespace motet
