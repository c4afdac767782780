// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/ranks/thread_ranks.hpp>
#include <motet/schedule/core/costs.hpp>

#include <queue>

#include <time.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace motet {

namespace detail {

// An end of a transport that knows when its rank last had to wait for another.
template <class Endpoint>
class waiting_end : public Endpoint {
 public:
  using Endpoint::Endpoint;
  void pause(std::uint32_t seen) {
    Endpoint::pause(seen);
    woke_ = std::chrono::steady_clock::now();
  }
  std::chrono::steady_clock::time_point woke() const { return woke_; }

 private:
  std::chrono::steady_clock::time_point woke_;
};

// Hands messages over when their time has come, so that no rank sleeps for a wire.
template <class World, class Endpoint>
class courier {
 public:
  using clock = std::chrono::steady_clock;
  explicit courier(World& world) : end_(world, 0), thread_([this] { work(); }) {}
  courier(const courier&) = delete;
  courier& operator=(const courier&) = delete;
  ~courier() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  void begin_step() {
    const std::lock_guard lock(mutex_);
    end_.begin_step();
  }
  void carry(std::int32_t tag, std::int32_t peer, clock::time_point when) {
    {
      const std::lock_guard lock(mutex_);
      due_.push({when, tag, peer});
    }
    wake_.notify_all();
  }

 private:
  struct letter {
    clock::time_point when;
    std::int32_t tag, peer;
    bool operator<(const letter& other) const { return when > other.when; }
  };
  void work() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (due_.empty()) {
        wake_.wait(lock);
      } else if (const letter first = due_.top(); first.when <= clock::now()) {
        due_.pop();
        end_.send(first.tag, first.peer, nullptr, 0);
      } else {
        wake_.wait_until(lock, first.when);
      }
    }
  }
  Endpoint end_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::priority_queue<letter> due_;
  bool ending_ = false;
  std::thread thread_;  // last: it begins with the rest in place
};

}  // namespace detail

struct stand_in_result {
  double seconds = 0;  // from the start to the end of the last rank
  timeline when;       // in seconds
};

// Runs a program on threads with real messages and meetings in real time, where each computation waits as
// long as the costs say instead of computing: hundreds of ranks on a few processors. Costs are in units of
// seconds_per_unit. A message takes its wire's latency and its bytes' time; wires are not shared here. World
// and Endpoint are a transport within this process.
template <class World, class Endpoint>
class stand_in {
 public:
  stand_in(program from, const cost_table& costs, double seconds_per_unit, double deadline_seconds = 60)
      : costs_(costs),
        unit_(seconds_per_unit),
        ranks_(std::move(from), deadline_seconds),
        courier_(ranks_.world()) {
    const program& of = ranks_.sheet().of;
    for (std::int32_t r = 0; r < of.ranks(); ++r) {
      states_.push_back({this, &ranks_.end(r), {}});
    }
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const op what = of.instructions[i].what;
      const std::int32_t rank = of.rank_of(i);
      // Shards that compute together take equal times, so each goes by itself.
      const std::int32_t meeting = ranks_.sheet().graph.meetings[i];
      const bool meets = meeting >= 0 && meeting < ranks_.sheet().graph.computations;
      ranks_.player(rank).set(i, {meets              ? &meet
                                  : is_send(what)    ? &send
                                  : is_receive(what) ? &receive
                                                     : &compute,
                                  &states_[as_size(rank)]});
    }
  }

  stand_in_result run() {
    stand_in_result out;
    courier_.begin_step();
    ranks_.run(
        [&](std::int32_t rank) {
#if defined(__linux__)
          // wake at the nanosecond that was asked for, as far as it goes
          ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
          states_[as_size(rank)].free = clock::now();
        },
        &out.when);
    out.seconds = out.when.makespan;
    return out;
  }

 private:
  using clock = std::chrono::steady_clock;
  using end_type = detail::waiting_end<Endpoint>;
  struct rank_state {
    stand_in* all = nullptr;
    end_type* end = nullptr;
    clock::time_point free;  // when its last computation was to end
  };

  clock::duration duration(double units) const {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(units * unit_));
  }
  // A timer wakes late. Who then finds all that it needs goes on from when the timer was to end; who had to
  // wait for another, from now.
  void wait(rank_state& own, double units) const {
    if (own.end->woke() > own.free) own.free = clock::now();
    own.free += duration(units);
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(own.free.time_since_epoch()).count();
    const timespec until{static_cast<time_t>(since / 1000000000), static_cast<long>(since % 1000000000)};
    while (own.free > clock::now()) ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }

  static bool compute(void* state, const instruction& it, std::int32_t number) {
    rank_state& own = *static_cast<rank_state*>(state);
    const stand_in& all = *own.all;
    const program& of = all.ranks_.sheet().of;
    // Instructions that overlap end together: the first waits for all, the others for nothing.
    if (number > of.starts[own.end->rank()] && of.instructions[number - 1].paired) return true;
    double units = all.costs_.seconds(of, it);
    for (std::int32_t part = number; of.instructions[part].paired; ++part)
      units += all.costs_.seconds(of, of.instructions[part + 1]);
    if (it.paired && all.costs_.overlapped > 0) units = all.costs_.overlapped / of.voices[it.voice].chunks;
    units *= all.costs_.stretch(number);
    if (units > 0) all.wait(own, units);
    return true;
  }
  static bool send(void* state, const instruction& it, std::int32_t number) {
    rank_state& own = *static_cast<rank_state*>(state);
    stand_in& all = *own.all;
    const wire way = all.costs_.between(own.end->rank(), it.peer);
    const double units =
        way.latency + way.seconds(all.costs_.bytes(all.ranks_.sheet().of, number, all.brings_));
    const std::int32_t tag = all.ranks_.sheet().tags[number];
    if (units > 0) all.courier_.carry(tag, it.peer, clock::now() + all.duration(units));
    else own.end->send(tag, it.peer, nullptr, 0);
    return true;
  }
  static bool receive(void* state, const instruction& it, std::int32_t number) {
    rank_state& own = *static_cast<rank_state*>(state);
    return own.end->receive(own.all->ranks_.sheet().tags[number], it.peer, nullptr, 0);
  }
  static bool meet(void* state, const instruction& it, std::int32_t number) {
    rank_state& own = *static_cast<rank_state*>(state);
    auto& ranks = own.all->ranks_;
    const std::int32_t meeting = ranks.sheet().tags[number];
    if (!own.end->gather(meeting, ranks.member(meeting, own.end->rank()), nullptr, 0, nullptr)) return false;
    return compute(state, it, number);
  }

  cost_table costs_;
  double unit_;
  thread_ranks<World, end_type> ranks_;
  message_shares brings_{ranks_.sheet().of};
  detail::courier<World, end_type> courier_;
  std::vector<rank_state> states_;
};

}  // namespace motet
