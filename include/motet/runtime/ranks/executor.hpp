// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/concepts.hpp>
#include <motet/backend/groups/noted_wait.hpp>
#include <motet/backend/groups/stream_lanes.hpp>
#include <motet/backend/groups/turns.hpp>
#include <motet/runtime/ranks/lane_threads.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// An action is what an instruction does on its rank: one function for each (module, operation), made by the
// compiler, and the stage that it works on. The result is false when it cannot go on yet: call again when
// something has arrived.
struct action {
  bool (*run)(void* stage, const instruction& it, std::int32_t number) = nullptr;
  void* stage = nullptr;
  // of work that begins before its turn: when it did, for records
  const std::chrono::steady_clock::time_point* began = nullptr;
};

// A program laid out for running: who waits for whom, once for all ranks. Messages are tagged by the number
// of their send.
struct score_sheet {
  program of;
  program_graph graph;
  // of each send and receive: the message's number; of joins and reductions: the meeting's
  list<std::int32_t> tags;
  std::int32_t messages = 0;

  // The second exchange of a join has a meeting of its own, behind all others of the program.
  std::int32_t join_meetings() const { return graph.first_meetings[of.joins]; }
  std::int32_t second(std::int32_t meeting) const { return graph.computations + meeting; }

  explicit score_sheet(program from);
};

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY score_sheet::score_sheet(program from) : of(std::move(from)) {
  // by the stricter delivery, which passes on every transport
  require_legal(of, delivery::rendezvous, graph);
  tags.resize(of.instructions.size(), -1);
  for (isize i = 0; i < of.instructions.size(); ++i) {
    if (is_send(of.instructions[i].what)) tags[i] = messages++;
    if (graph.meetings[i] >= 0) tags[i] = graph.meetings[i];
  }
  // A receive waits for its send before all else.
  for (std::int32_t i = 0; i < of.instructions.size(); ++i)
    if (is_receive(of.instructions[i].what)) tags[i] = tags[*graph.waits_of(i).begin()];
}
#endif

// Runs one rank's part of a program: each lane in its order, an instruction when all that it waits for on
// this rank is done. Nothing is allocated.
//
// Lanes that compute have a thread each, where there are several and the transport takes turns. Whoever has
// the turn goes through the lists, its own lane's and those of the lanes that do not compute, and lets the
// others do so while an action is apart (turns.hpp) or it sleeps. Where lanes are streams, one thread begins
// the work of all (stream_lanes.hpp).
template <transport Transport>
class rank_player {
 public:
  // first: the rank's player of another score of the cast, whose threads play this one as well.
  rank_player(const score_sheet& sheet, std::int32_t rank, Transport& by, const rank_player* first = nullptr)
      : sheet_(sheet), by_(by), first_(sheet.of.starts[rank]) {
    const program& of = sheet.of;
    const auto size = as_size(of.starts[rank + 1] - first_);
    steps_.resize(size);
    done_.resize(size, 0);
    for (isize l = 0; l < sheet.graph.lane_ranks.size(); ++l) {
      if (sheet.graph.lane_ranks[l] != rank) continue;
      const std::int32_t begin = sheet.graph.lane_starts[l], end = sheet.graph.lane_starts[l + 1];
      lane_state& own = lanes_.emplace_back(lane_state{begin, end});
      const auto computes = [&](std::int32_t i) { return is_compute(of.instructions[i].what); };
      const std::int32_t* const order = sheet.graph.order.data();
      if (lane::computes(of.instructions[order[begin]].lane) &&
          std::any_of(order + begin, order + end, computes))
        own.computes = computing_++;
      for (std::int32_t p = begin, pair = 0; p < end; ++p) {
        const std::int32_t number = sheet.graph.order[p];
        // Instructions that overlap start together: the first waits for what any of them needs.
        if (pair == 0) steps_[index_of(number)].first_wait = static_cast<std::int32_t>(waits_.size());
        for (const std::int32_t each : sheet.graph.waits_of(number))
          if (each >= first_ && each < of.starts[rank + 1]) waits_.push_back(each - first_);
        const std::int32_t head = sheet.graph.order[p - pair];
        steps_[index_of(head)].last_wait = static_cast<std::int32_t>(waits_.size());
        pair = of.instructions[number].paired ? pair + 1 : 0;
      }
    }
    if constexpr (stream_lanes<Transport>) find_lanes();
    heads_ = std::make_unique<std::atomic<std::int32_t>[]>(lanes_.size());
    if constexpr (takes_turns<Transport>)
      if (computing_ > 1)
        threads_ = first != nullptr ? first->threads_ : std::make_shared<lane_threads>(computing_);
    if constexpr (shows)
      if (by_.wants_ranges())
        for (std::int32_t i = first_; i < of.starts[rank + 1]; ++i)
          names_.push_back(describe(of, of.instructions[i]));
  }

  void set(std::int32_t number, action what) { steps_[as_size(number - first_)].what = what; }
  // Fills start and finish of this rank's instructions, in seconds from `zero`.
  void record(timeline* into, std::chrono::steady_clock::time_point zero) {
    record_ = into;
    zero_ = zero;
    for (lane_state& each : lanes_) each.gaps.clear();
  }
  // Adds the gaps inside what this rank computed since record(). Those of work that a rank only begins are
  // none of its threads'.
  void add_gaps(list<timeline::gap>& to) const {
    for (const lane_state& each : lanes_)
      for (const timeline::gap& one : each.gaps) to.push(one);
  }

  // Adds to each place of the program the seconds that it computes here (forward and backward, no waiting for
  // others) from now on; null: to none.
  void clock(double* seconds_of_places) { clock_ = seconds_of_places; }

  // One step: the rank's whole list.
  void run() {
    ++step_;
    by_.begin_step();
    left_ = static_cast<std::int32_t>(steps_.size());
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      lanes_[l].at = lanes_[l].begin;
      publish(l);
    }
    if (threads_) play_beside();
    else play(every);
    current_ = -1;
    if constexpr (stream_lanes<Transport>) by_.enter(0);
    if constexpr (requires { by_.end_step(); }) by_.end_step();
    if constexpr (marks) resolve();
  }

  // Calls visit(begin, at, end) for each lane, positions in graph.order: what stands before `at` is done. May
  // be asked by another thread.
  template <class Visit>
  void each_lane(Visit visit) const {
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      visit(lanes_[l].begin, heads_[l].load(std::memory_order_relaxed), lanes_[l].end);
  }
  // The instruction that this rank tried last, or that failed; -1 outside a step.
  std::int32_t current() const { return current_; }

 private:
  // A transport may keep time of what a rank only begins: mark_begin(i) before, mark_end(i) behind the rank's
  // instruction i (or mark_drop(), where it could not go on), and after the step begin_of(i) and end_of(i) in
  // seconds from the world's mark_zero(), seconds_of(i) between them. begin_of(i, which) is of what began
  // before its turn.
  static constexpr bool marks = requires(Transport& t) {
    t.mark_begin(0);
    t.mark_end(0);
    t.mark_drop();
    t.begin_of(0, nullptr);
    { t.seconds_of(0) } -> std::convertible_to<double>;
  };
  // It may show profilers what the rank does: range(name) lives around an instruction, where wants_ranges().
  static constexpr bool shows = requires(Transport& t) {
    { t.wants_ranges() } -> std::convertible_to<bool>;
    t.range("");
  };
  struct step {
    action what;
    std::int32_t first_wait = 0, last_wait = 0;
    std::int32_t lane = 0;     // where it begins its work, of a rank whose lanes are streams
    bool is_followed = false;  // by another lane
  };
  struct lane_state {
    std::int32_t begin, end;
    int computes = none;  // which of those that do
    std::int32_t at = 0;
    wait_notes waits = {};  // of the instruction under way, while they are recorded
    std::vector<timeline::gap> gaps = {};
  };
  static constexpr int none = -1, every = -1;

  // An instruction begins its work in its module's lane; losses are found, and weights updated, in the first.
  void find_lanes() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const instruction& it = sheet_.of.instructions[first_ + static_cast<std::int32_t>(i)];
      if (it.what != op::join && it.what != op::optimizer_step)
        steps_[i].lane = sheet_.of.voices[it.voice].lane;
      streams_ = streams_ || steps_[i].lane > 0;
    }
    if (!streams_) return;
    followed_.resize(steps_.size(), 0);
    for (const step& each : steps_)
      for (std::int32_t w = each.first_wait; w < each.last_wait; ++w)
        if (step& other = steps_[as_size(waits_[as_size(w)])]; other.lane != each.lane)
          other.is_followed = true;
  }
  // One thread begins the computations of all lanes in the order of the rank's list, which is that of every
  // rank's list: so two ranks that compute together in several lanes never wait for each other.
  bool is_next(std::int32_t number) const {
    for (const lane_state& each : lanes_)
      if (each.computes != none && each.at < each.end && sheet_.graph.order[each.at] < number) return false;
    return true;
  }
  // What the lane begins from here on comes behind what other lanes began for it.
  void enter_lane(std::int32_t mine) {
    const step& now = steps_[as_size(mine)];
    by_.enter(now.lane);
    if (std::exchange(followed_[as_size(mine)], step_) == step_) return;
    for (std::int32_t w = now.first_wait; w < now.last_wait; ++w)
      if (const std::int32_t other = waits_[as_size(w)]; steps_[as_size(other)].lane != now.lane)
        by_.follow(other);
  }
  std::size_t index_of(std::int32_t number) const { return as_size(number - first_); }
  // Plays until all is done; of the lanes that compute, one or every.
  void play(int which) {
    [[maybe_unused]] const auto turn = turn_of(by_);
    while (left_ > 0 && !failure_) {
      const std::uint32_t seen = by_.observe();
      bool went = false;
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        lane_state& own = lanes_[l];
        const bool computes = own.computes != none;
        if (computes && which != every && own.computes != which) continue;
        // After one computation the other lanes get their turn: what it made should leave at once.
        while (own.at < own.end && !failure_ && perform(own)) {
          went = true;
          publish(l);
          if (computes) break;
        }
      }
      if (!went) by_.pause(seen);
    }
  }
  // Each lane that computes on a thread of its own. The first failure ends the waits of all ranks, as the
  // other lanes may be within one.
  void play_beside() {
    if constexpr (takes_turns<Transport>) {
      by_.share(computing_);
      threads_->run([this](int which) {
        try {
          play(which);
        } catch (...) {
          [[maybe_unused]] const auto turn = turn_of(by_);
          fails();
        }
      });
      by_.share(1);
      if (failure_) std::rethrow_exception(failure_);
    }
  }
  // Within a handler, by who has the turn.
  void fails() {
    if (failure_) return;
    failure_ = std::current_exception();
    if constexpr (takes_turns<Transport>) {
      try {
        throw;
      } catch (const std::exception& problem) {
        by_.stop(problem.what());
      } catch (...) {
        by_.stop("a lane could not go on");
      }
    }
  }
  void publish(std::size_t l) { heads_[l].store(lanes_[l].at, std::memory_order_relaxed); }
  bool begin(const step& now, const instruction& it, std::int32_t number) {
    if (!threads_) return act(now, it, number);
    try {
      return act(now, it, number);
    } catch (...) {
      if (!failure_) current_ = number;
      fails();
      throw;
    }
  }
  bool act(const step& now, const instruction& it, std::int32_t number) {
    if constexpr (shows)
      if (!names_.empty()) {
        [[maybe_unused]] const auto shown = by_.range(names_[index_of(number)].c_str());
        return now.what.run(now.what.stage, it, number);
      }
    return now.what.run(now.what.stage, it, number);
  }
  bool perform(lane_state& own) {
    const std::int32_t number = sheet_.graph.order[own.at], mine = number - first_;
    const step& now = steps_[as_size(mine)];
    for (std::int32_t w = now.first_wait; w < now.last_wait; ++w)
      if (done_[as_size(waits_[as_size(w)])] != step_) return false;
    if constexpr (stream_lanes<Transport>)
      if (streams_) {
        if (own.computes != none && !is_next(number)) return false;
        enter_lane(mine);
      }
    current_ = number;
    const instruction& it = sheet_.of.instructions[number];
    const bool computes = is_forward(it.what) || is_backward(it.what);
    if (record_ == nullptr && (clock_ == nullptr || !computes)) {
      if (!begin(now, it, number)) return false;
    } else if constexpr (marks) {
      by_.mark_begin(mine);
      if (!begin(now, it, number)) return by_.mark_drop(), false;
      by_.mark_end(mine);
    } else {
      const auto tried = std::chrono::steady_clock::now();
      own.waits.clear();
      if (record_ != nullptr && computes) {
        const notes_waits noted(own.waits);
        if (!begin(now, it, number)) return false;
      } else if (!begin(now, it, number)) {
        return false;
      }
      const auto through = std::chrono::steady_clock::now();
      if (record_ != nullptr) {
        record_->start[number] = since_zero(now.what.began != nullptr ? *now.what.began : tried);
        record_->finish[number] = since_zero(through);
        for (const wait_span& each : own.waits)
          own.gaps.push_back({number, each.what, since_zero(each.start), since_zero(each.finish)});
      }
      if (clock_ != nullptr && computes)
        clock_[sheet_.of.voices[it.voice].first_place + it.stage] +=
            std::chrono::duration<double>(through - tried).count();
    }
    if constexpr (stream_lanes<Transport>)
      if (streams_ && now.is_followed) by_.tell(mine);
    done_[as_size(mine)] = step_;
    ++own.at;
    --left_;
    if constexpr (takes_turns<Transport>)
      if (threads_) by_.wake();
    return true;
  }
  // Where actions only begin their work, the transport has marked when that was done, as all of it is now.
  void resolve()
    requires marks
  {
    if (record_ == nullptr && clock_ == nullptr) return;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto mine = static_cast<std::int32_t>(i), number = first_ + mine;
      const instruction& it = sheet_.of.instructions[number];
      if (record_ != nullptr) {
        const auto* const early = steps_[i].what.began;
        record_->start[number] = early != nullptr ? by_.begin_of(mine, early) : by_.begin_of(mine);
        record_->finish[number] = by_.end_of(mine);
      }
      if (clock_ != nullptr && (is_forward(it.what) || is_backward(it.what)))
        clock_[sheet_.of.voices[it.voice].first_place + it.stage] += by_.seconds_of(mine);
    }
  }
  double since_zero(std::chrono::steady_clock::time_point when) const {
    return std::chrono::duration<double>(when - zero_).count();
  }

  const score_sheet& sheet_;
  Transport& by_;
  std::int32_t first_, current_ = -1;
  std::uint32_t step_ = 0;
  std::vector<step> steps_;
  std::vector<std::int32_t> waits_;  // of each step, on this rank
  std::vector<std::uint32_t> done_;  // the step in which an instruction was done
  std::vector<lane_state> lanes_;
  int computing_ = 0;                    // of them
  bool streams_ = false;                 // they are streams, and one thread begins the work of all
  std::vector<std::uint32_t> followed_;  // the step in which an instruction's lane waited for the others
  std::int32_t left_ = 0;                // instructions of this step
  std::exception_ptr failure_;
  std::unique_ptr<std::atomic<std::int32_t>[]> heads_;
  std::vector<std::string> names_;  // of each step; none: nobody asks
  timeline* record_ = nullptr;
  double* clock_ = nullptr;
  std::chrono::steady_clock::time_point zero_;
  std::shared_ptr<lane_threads> threads_;  // of the lanes that compute; none: one thread plays all
};

}  // namespace motet
