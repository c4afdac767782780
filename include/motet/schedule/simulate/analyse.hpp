// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/live.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>

namespace motet {

// A rank's time goes into these parts, which add up to the makespan.
struct rank_time {
  double busy = 0;        // in a lane that computes
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

// visit(i) for each instruction of a rank as they began: in the order of its list, where one lane computes.
template <class Visit>
constexpr void each_by_start(const program& of, const timeline& when, std::int32_t rank, Visit visit) {
  bool several = false;
  for (const instruction& each : of.role(rank)) several = several || each.lane > lane::last_channel;
  if (!several) {
    for (std::int32_t i = of.starts[rank]; i < of.starts[rank + 1]; ++i) visit(i);
    return;
  }
  list<std::int32_t> order;
  for (std::int32_t i = of.starts[rank]; i < of.starts[rank + 1]; ++i) order.push(i);
  std::sort(order.data(), order.data() + order.size(), [&](std::int32_t a, std::int32_t b) {
    return when.start[a] < when.start[b] || (when.start[a] == when.start[b] && a < b);
  });
  for (const std::int32_t i : order) visit(i);
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
    // Lanes beside each other may be at their most at the same time.
    double live[lane::most_computing] = {}, bytes[lane::most_computing] = {}, peak[lane::most_computing] = {},
           peak_bytes[lane::most_computing] = {};
    each_live_change(of, of.starts[r], of.starts[r + 1], [&](const instruction& it, int change) {
      const voice& sings = of.voices[it.voice];
      const std::int32_t l = sings.lane;
      live[l] += static_cast<double>(change) / sings.chunks;
      bytes[l] += change * costs.stages[sings.first_place + it.stage].kept_bytes * costs.factor(sings, it);
      peak[l] = live[l] > peak[l] ? live[l] : peak[l];
      peak_bytes[l] = bytes[l] > peak_bytes[l] ? bytes[l] : peak_bytes[l];
    });
    double now = 0;
    bool began = false;
    detail::each_by_start(of, when, r, [&](std::int32_t i) {
      const instruction& it = of.instructions[i];
      if (!lane::computes(it.lane) || is_transfer(it.what)) return;
      // An update at no cost is not what a rank is there for.
      if (it.what == op::optimizer_step && when.finish[i] == when.start[i]) return;
      if (it.paired && when.finish[i] == when.finish[i + 1]) return;  // counted with its second
      if (!began) own.warm_up = when.start[i];
      else if (when.start[i] > now) detail::file_gap(of, when, i, now, when.start[i], own);
      const double from = began && now > when.start[i] ? now : when.start[i];
      began = true;
      if (when.finish[i] <= from) return;
      own.busy += when.finish[i] - from;
      now = when.finish[i];
    });
    double most_live = 0, most_bytes = 0;
    for (int l = 0; l < lane::most_computing; ++l) most_live += peak[l], most_bytes += peak_bytes[l];
    own.cool_down = when.makespan - now;
    if (began) {
      idle += own.idle();
      ++at_work;
    }
    out.ranks.push(own);
    out.peak_live.push(most_live);
    out.peak_bytes.push(most_bytes);
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
