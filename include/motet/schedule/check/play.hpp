// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/graph.hpp>

#include <concepts>

namespace motet {

// play() asks this of a clock. One without time:
struct no_clock {
  // that instruction i is served in the order of time; of a rendezvous, both ends
  constexpr bool shares(std::int32_t) const { return false; }
  // that instruction i could begin, once all it waits for is done
  constexpr double earliest(std::int32_t) const { return 0; }
  // these instructions together: a pair, a meeting, or one alone
  constexpr void perform(const std::int32_t*, std::int32_t) {}
};
// A clock may know of some instructions only at their end how long they took, as others slow them: lasts(i),
// for which shares(i) is true as well; begin(lane, all, count) instead of perform(); first_end(), the time of
// the first that ends, negative where none is under way; and end_first(), the lane of that one.
template <class Clock>
concept clock_with_ends = requires(Clock& clock, const std::int32_t* all) {
  { clock.lasts(0) } -> std::convertible_to<bool>;
  clock.begin(0, all, 0);
  { clock.first_end() } -> std::convertible_to<double>;
  { clock.end_first() } -> std::convertible_to<std::int32_t>;
};

// A rank stands here when nothing moves any more.
struct stuck_lane {
  std::int32_t at = -1;         // the instruction that cannot begin
  std::int32_t waits_for = -1;  // one that it waits for; -1: for the other members of its meeting
};

// Plays a program: every lane in its order, an instruction as soon as all that it waits for is done. What
// shares a link is served in the order of time; for the rest the order of discovery does not matter, so no
// queue is kept.
template <class Clock>
class program_player {
 public:
  constexpr program_player(const program& of, const program_graph& graph, Clock& clock)
      : of_(of), graph_(graph), clock_(clock), lanes_(static_cast<std::int32_t>(graph.lane_ranks.size())) {}

  // The result is false when some lanes are stuck.
  constexpr bool run() {
    done_.resize(of_.instructions.size(), 0);
    waiters_.resize(of_.instructions.size(), -1);
    next_waiter_.resize(lanes_, -1);
    parked_.resize(graph_.meeting_sizes.size(), -1);
    arrived_.resize(graph_.meeting_sizes.size(), 0);
    next_parked_.resize(lanes_, -1);
    position_.reserve(lanes_);
    for (std::int32_t l = 0; l < lanes_; ++l) position_.push(graph_.lane_starts[l]);
    for (std::int32_t l = lanes_; l-- > 0;) runnable_.push(l);
    for (;;) {
      while (!runnable_.empty()) {
        const std::int32_t l = runnable_.back();
        runnable_.pop();
        advance(l, false);
      }
      if (one_ends()) continue;
      if (queue_.empty()) break;
      advance(pop_earliest(), true);
    }
    for (std::int32_t l = 0; l < lanes_; ++l)
      if (position_[l] < graph_.lane_starts[l + 1]) return false;
    return true;
  }
  constexpr list<stuck_lane> stuck() const {
    list<stuck_lane> found;
    for (std::int32_t l = 0; l < lanes_; ++l) {
      if (position_[l] == graph_.lane_starts[l + 1]) continue;
      const std::int32_t at = graph_.order[position_[l]];
      found.push({at, missing(position_[l], last_of(position_[l], graph_.lane_starts[l + 1]))});
    }
    return found;
  }
  constexpr bool done(std::int32_t i) const { return done_[i] != 0; }

 private:
  struct request {
    double when;
    std::int32_t lane;
  };

  constexpr std::int32_t last_of(std::int32_t position, std::int32_t end) const {
    while (position + 1 < end && of_.instructions[graph_.order[position]].paired) ++position;
    return position;
  }
  constexpr std::int32_t missing(std::int32_t first, std::int32_t last) const {
    for (std::int32_t p = first; p <= last; ++p)
      for (const std::int32_t each : graph_.waits_of(graph_.order[p]))
        if (each >= 0 && done_[each] == 0) return each;
    return -1;
  }

  constexpr void advance(std::int32_t l, bool served) {
    const std::int32_t end = graph_.lane_starts[l + 1];
    const std::int32_t* const order = graph_.order.data();
    while (position_[l] < end) {
      const std::int32_t first = position_[l], last = last_of(first, end), i = order[first];
      if (const std::int32_t other = missing(first, last); other >= 0) {
        next_waiter_[l] = waiters_[other];
        waiters_[other] = l;
        return;
      }
      const std::int32_t meeting = graph_.meetings[i];
      if (meeting >= 0) {
        next_parked_[l] = parked_[meeting];
        parked_[meeting] = l;
        if (++arrived_[meeting] < graph_.meeting_sizes[meeting]) return;
        if (clock_.shares(i) && !served) {
          --arrived_[meeting];
          parked_[meeting] = next_parked_[l];
          return push({meeting_time(meeting, i), l});
        }
        met_.clear();
        for (std::int32_t p = parked_[meeting]; p >= 0; p = next_parked_[p]) met_.push(order[position_[p]]);
        if (begins(l, met_.data(), static_cast<std::int32_t>(met_.size()))) return;
        clock_.perform(met_.data(), static_cast<std::int32_t>(met_.size()));
        leave_meeting(meeting, l);
      } else {
        if (clock_.shares(i) && !served) return push({clock_.earliest(i), l});
        if (begins(l, order + first, last - first + 1)) return;
        clock_.perform(order + first, last - first + 1);
        pass(l, last);
      }
      served = false;
    }
  }
  // Those who met go on: lane l at once, the others when it is their turn.
  constexpr void leave_meeting(std::int32_t meeting, std::int32_t l) {
    for (std::int32_t p = parked_[meeting]; p >= 0; p = next_parked_[p]) {
      finish(graph_.order[position_[p]]);
      ++position_[p];
      if (p != l) runnable_.push(p);
    }
  }
  // A lane is through with what it ran, up to that position.
  constexpr void pass(std::int32_t l, std::int32_t last) {
    for (std::int32_t p = position_[l]; p <= last; ++p) finish(graph_.order[p]);
    position_[l] = last + 1;
  }
  constexpr bool begins([[maybe_unused]] std::int32_t l, [[maybe_unused]] const std::int32_t* all,
                        [[maybe_unused]] std::int32_t count) {
    if constexpr (clock_with_ends<Clock>)
      if (clock_.lasts(all[0])) return clock_.begin(l, all, count), true;
    return false;
  }
  // Something under way ends before anything else begins.
  constexpr bool one_ends() {
    if constexpr (clock_with_ends<Clock>) {
      const double when = clock_.first_end();
      if (when < 0 || (!queue_.empty() && queue_[0].when < when)) return false;
      const std::int32_t l = clock_.end_first(), at = position_[l],
                         meeting = graph_.meetings[graph_.order[at]];
      if (meeting >= 0) leave_meeting(meeting, l);
      else pass(l, last_of(at, graph_.lane_starts[l + 1]));
      runnable_.push(l);
      return true;
    } else return false;
  }
  constexpr double meeting_time(std::int32_t meeting, std::int32_t i) const {
    double latest = clock_.earliest(i);
    for (std::int32_t p = parked_[meeting]; p >= 0; p = next_parked_[p]) {
      const double own = clock_.earliest(graph_.order[position_[p]]);
      latest = own > latest ? own : latest;
    }
    return latest;
  }
  constexpr void finish(std::int32_t i) {
    done_[i] = 1;
    for (std::int32_t l = waiters_[i]; l >= 0; l = next_waiter_[l]) runnable_.push(l);
  }

  // A heap of those who want a shared link; ties by lane, so that results do not depend on the order of
  // discovery.
  static constexpr bool before(const request& a, const request& b) {
    return a.when < b.when || (a.when == b.when && a.lane < b.lane);
  }
  constexpr void push(request made) {
    queue_.push(made);
    for (isize i = queue_.size() - 1; i > 0 && before(queue_[i], queue_[(i - 1) / 2]); i = (i - 1) / 2)
      std::swap(queue_[i], queue_[(i - 1) / 2]);
  }
  constexpr std::int32_t pop_earliest() {
    const std::int32_t l = queue_[0].lane;
    queue_[0] = queue_.back();
    queue_.pop();
    for (isize i = 0;;) {
      isize least = i;
      for (isize child = 2 * i + 1; child <= 2 * i + 2 && child < queue_.size(); ++child)
        if (before(queue_[child], queue_[least])) least = child;
      if (least == i) return l;
      std::swap(queue_[i], queue_[least]);
      i = least;
    }
  }

  const program& of_;
  const program_graph& graph_;
  Clock& clock_;
  std::int32_t lanes_;
  list<std::uint8_t> done_;
  list<std::int32_t> waiters_, next_waiter_;           // of each instruction the lanes that wait for it
  list<std::int32_t> parked_, next_parked_, arrived_;  // of each meeting the lanes that are there
  list<std::int32_t> position_, runnable_, met_;
  list<request> queue_;
};

}  // namespace motet
