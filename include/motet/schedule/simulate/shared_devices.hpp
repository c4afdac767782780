// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/graph.hpp>
#include <motet/schedule/simulate/speed_in_gaps.hpp>

#include <bit>

namespace motet {

// An instruction that needs the device of its rank, and the bit of the lane that it is in.
constexpr bool takes_device(const instruction& it) {
  return lane::computes(it.lane) && (is_compute(it.what) || it.what == op::optimizer_step);
}
constexpr std::uint32_t lane_bit(const instruction& it) {
  return std::uint32_t{1} << lane::which_computing(it.lane);
}

// What computes in several lanes of one rank, while it does: each lane is as fast as its share of the device
// lets it be beside those that are busy and between their gaps, and that changes whenever one of them begins
// or ends. Where all ranks share processors, so does whatever computes on any of them.
class shared_devices {
 public:
  // One or several instructions that run as one: in a lane, or all of a meeting.
  struct work {
    std::int32_t lane = 0;  // as players number them; of a meeting, of the member that came last
    list<std::int32_t> all;
    double start = 0;
    std::int32_t behind = -1;
    double left = 0;  // of its time on a device by itself, at `since`
    double since = 0, speed = 1;
    constexpr double end() const { return since + left / speed; }
  };

  constexpr shared_devices(const program& of, const program_graph& graph, const cost_table& costs,
                           const list<std::int32_t>& ranks)
      : of_(of), costs_(costs), ranks_(ranks) {
    bool several = false;
    for (const voice& each : of.voices) several = several || each.lane != 0;
    if (!several) return;
    busy_.resize(of.ranks(), 0);
    gaps_.resize(of.ranks(), {});
    lasts_.resize(of.instructions.size(), 0);
    list<std::uint32_t> lanes(of.ranks(), 0);
    for (isize i = 0; i < of.instructions.size(); ++i)
      if (takes_device(of.instructions[i])) lanes[ranks_[i]] |= lane_bit(of.instructions[i]);
    list<std::uint8_t> meetings(graph.meeting_sizes.size(), 0);
    const auto shared = [&](isize i) {
      const std::uint32_t own = lanes[ranks_[i]];
      return takes_device(of.instructions[i]) && (costs.processors > 0 || (own & (own - 1)) != 0);
    };
    for (isize i = 0; i < of.instructions.size(); ++i)
      if (shared(i) && graph.meetings[i] >= 0) meetings[graph.meetings[i]] = 1;
    for (isize i = 0; i < of.instructions.size(); ++i)
      lasts_[i] = graph.meetings[i] >= 0 ? meetings[graph.meetings[i]] : shared(i) ? 1 : 0;
  }

  // Says whether instruction i, or one that it meets, may be slowed by another lane.
  constexpr bool has(std::int32_t i) const { return !lasts_.empty() && lasts_[i] != 0; }
  constexpr void begin(work made) {
    mark(made, true);
    made.since = made.start;
    under_way_.push(static_cast<work&&>(made));
    find_speeds(under_way_.back().start);
  }
  // Negative: nothing is under way.
  constexpr double first_end() const { return under_way_.empty() ? -1 : under_way_[first()].end(); }
  constexpr work end_first() {
    const isize at = first();
    const double now = under_way_[at].end();
    work ended = static_cast<work&&>(under_way_[at]);
    mark(ended, false);
    if (at + 1 < under_way_.size()) under_way_[at] = static_cast<work&&>(under_way_.back());
    under_way_.pop();
    find_speeds(now);
    return ended;
  }

 private:
  // Of those that end at once, the lane with the least number is first.
  constexpr isize first() const {
    isize found = 0;
    for (isize k = 1; k < under_way_.size(); ++k) {
      const double own = under_way_[k].end(), least = under_way_[found].end();
      if (own < least || (own == least && under_way_[k].lane < under_way_[found].lane)) found = k;
    }
    return found;
  }
  constexpr void mark(const work& of, bool busy) {
    for (const std::int32_t i : of.all) {
      if (!takes_device(of_.instructions[i])) continue;
      const std::uint32_t own = lane_bit(of_.instructions[i]);
      if (busy) busy_[ranks_[i]] |= own;
      else busy_[ranks_[i]] &= ~own;
      gaps_[ranks_[i]][as_size(lane::which_computing(of_.instructions[i].lane))] =
          gaps_of(of_.instructions[i]);
    }
  }
  constexpr double gaps_of(const instruction& it) const {
    return is_compute(it.what) ? costs_.stages[of_.voices[it.voice].first_place + it.stage].gaps(it.what) : 0;
  }
  // Those who compute together are as fast as the slowest of them.
  constexpr void find_speeds(double now) {
    std::int32_t all = 0;
    if (costs_.processors > 0)
      for (const std::uint32_t each : busy_) all += std::popcount(each);
    for (work& each : under_way_) {
      double slowest = -1;
      for (const std::int32_t i : each.all) {
        if (!takes_device(of_.instructions[i])) continue;
        const std::uint32_t busy = busy_[ranks_[i]];
        const double own =
            speed_in_gaps(costs_, lane::which_computing(of_.instructions[i].lane), busy, gaps_[ranks_[i]],
                          costs_.processors > 0 ? all - std::popcount(busy) : 0);
        slowest = slowest < 0 || own < slowest ? own : slowest;
      }
      if (slowest == each.speed) continue;
      each.left -= (now - each.since) * each.speed;
      if (each.left < 0) each.left = 0;
      each.since = now;
      each.speed = slowest;
    }
  }

  const program& of_;
  const cost_table& costs_;
  const list<std::int32_t>& ranks_;  // of each instruction
  list<std::uint8_t> lasts_;         // of each instruction; empty: every rank computes in one lane
  list<std::uint32_t> busy_;         // of each rank, a bit for each lane
  list<gaps_of_lanes> gaps_;         // of each rank, of what its lanes have under way
  list<work> under_way_;
};

}  // namespace motet
