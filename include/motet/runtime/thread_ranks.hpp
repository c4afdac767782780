// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/executor.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/schedule/causes.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace motet {

// The ranks of a program as threads of this process. Threads stay between steps. A rank that fails stops the others; ranks that do not end in time
// are stopped too, and the error says who waits for whom.
template <class World, class Endpoint>
class thread_ranks {
 public:
  // Seconds for a step (0: any time), and for ranks that are late to end the instruction that they are in.
  thread_ranks(program from, double deadline, double grace = 60) : sheet_(std::move(from)), deadline_(deadline), grace_(grace), world_(make_world()) {
    for (std::int32_t r = 0; r < sheet_.of.ranks(); ++r) {
      ends_.push_back(std::make_unique<Endpoint>(world_, r));
      players_.push_back(std::make_unique<rank_player<Endpoint>>(sheet_, r, *ends_.back()));
    }
  }
  thread_ranks(const thread_ranks&) = delete;
  thread_ranks& operator=(const thread_ranks&) = delete;
  ~thread_ranks() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  const score_sheet& sheet() const { return sheet_; }
  World& world() { return world_; }
  Endpoint& end(std::int32_t rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  rank_player<Endpoint>& player(std::int32_t rank) { return *players_[static_cast<std::size_t>(rank)]; }
  // Number of rank within the members of a meeting.
  std::int32_t member(std::int32_t meeting, std::int32_t rank) const {
    const auto& all = members_[static_cast<std::size_t>(meeting)];
    for (std::size_t m = 0; m < all.size(); ++m)
      if (all[m] == rank) return static_cast<std::int32_t>(m);
    return -1;
  }
  std::int32_t members(std::int32_t meeting) const { return static_cast<std::int32_t>(members_[static_cast<std::size_t>(meeting)].size()); }
  // The meeting of all ranks that update parameters, at the end of a step.
  std::int32_t updaters() const { return static_cast<std::int32_t>(members_.size()) - 1; }

  // Makes the threads, so that no step does.
  void start() {
    while (threads_.size() < players_.size()) threads_.emplace_back([this, rank = static_cast<std::int32_t>(threads_.size())] { work(rank); });
  }

  // Runs the program once. `prepare(rank)` is called on each rank's thread first.
  template <class Prepare>
  void run(Prepare&& prepare, timeline* record = nullptr) {
    if (failed_) fail(ranks_failed_before);
    start();
    if (record != nullptr) {
      *record = {};
      record->start.resize(sheet_.of.instructions.size(), 0);
      record->finish.resize(sheet_.of.instructions.size(), 0);
    }
    const auto zero = std::chrono::steady_clock::now();
    for (auto& each : players_) each->record(record, zero);
    auto job = [&prepare](std::int32_t rank) { prepare(rank); };
    job_ = [](void* what, std::int32_t rank) { (*static_cast<decltype(job)*>(what))(rank); };
    argument_ = &job;
    {
      std::unique_lock lock(mutex_);
      running_ = sheet_.of.ranks();
      ++turn_;
      wake_.notify_all();
      if (!all_end(lock, deadline_)) stop_late_ranks(lock);
    }
    if (failure_) {
      failed_ = true;
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    if (record != nullptr) find_causes(sheet_.of, sheet_.graph, *record);
  }

  // Who waits for whom, a line for each lane that is not through.
  std::string report() const {
    const program& of = sheet_.of;
    std::vector<bool> done(static_cast<std::size_t>(of.instructions.size()), false), reached = done;
    each_lane([&](std::int32_t begin, std::int32_t at, std::int32_t end) {
      for (std::int32_t p = begin; p < at; ++p) done[static_cast<std::size_t>(sheet_.graph.order[p])] = true;
      if (at < end) reached[static_cast<std::size_t>(sheet_.graph.order[at])] = true;
    });
    std::string text;
    each_lane([&](std::int32_t, std::int32_t at, std::int32_t end) {
      if (at == end) return;
      const std::int32_t head = sheet_.graph.order[at], meeting = sheet_.graph.meetings[head];
      text += "\n  " + locate(of, head);
      bool waits = false;
      const auto wants = [&](std::int32_t other) { text += (std::exchange(waits, true) ? " and " : " waits for ") + locate(of, other); };
      for (const std::int32_t each : sheet_.graph.waits_of(head))
        if (each >= 0 && !done[static_cast<std::size_t>(each)]) wants(each);
      for (std::int32_t i = 0; meeting >= 0 && i < of.instructions.size(); ++i)
        if (sheet_.graph.meetings[i] == meeting && !done[static_cast<std::size_t>(i)] && !reached[static_cast<std::size_t>(i)]) wants(i);
      if (!waits) text += " waits for nothing";
    });
    return text;
  }

 private:
  World make_world() {
    const program& of = sheet_.of;
    members_.resize(static_cast<std::size_t>(sheet_.graph.meeting_sizes.size()) + 1);
    for (std::int32_t r = 0; r < of.ranks(); ++r) {
      bool updates = false;
      for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
        if (const std::int32_t meeting = sheet_.graph.meetings[i]; meeting >= 0) members_[static_cast<std::size_t>(meeting)].push_back(r);
        updates = updates || of.instructions[i].what == op::optimizer_step;
      }
      if (updates) members_.back().push_back(r);
    }
    return World(of.ranks(), sheet_.messages, members_);
  }
  template <class Visit>
  void each_lane(Visit visit) const {
    for (const auto& each : players_) each->each_lane(visit);
  }

  bool all_end(std::unique_lock<std::mutex>& lock, double seconds) {
    const auto ended = [&] { return running_ == 0; };
    if (seconds > 0) return ended_.wait_for(lock, std::chrono::duration<double>(seconds), ended);
    ended_.wait(lock, ended);
    return true;
  }
  void stop_late_ranks(std::unique_lock<std::mutex>& lock) {
    failed_ = true;
    const std::string who = "after " + std::to_string(deadline_) + " s" + report();
    world_.stop();
    if (!all_end(lock, grace_)) {
      // A thread within an instruction cannot be stopped from outside, and this object cannot be left while it runs.
      std::fprintf(stderr, "%s\n", error(ranks_too_late, who).what());
      std::abort();
    }
    if (!failure_) fail(ranks_too_late, who);
  }

  void work(std::int32_t rank) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ending_ || turn_ != seen; });
        if (ending_) return;
        seen = turn_;
      }
      try {
        job_(argument_, rank);
        players_[static_cast<std::size_t>(rank)]->run();
      } catch (const typename World::stopped&) {
      } catch (const error& problem) {
        const std::int32_t at = players_[static_cast<std::size_t>(rank)]->current();
        fails(at < 0 ? std::current_exception() : std::make_exception_ptr(error(problem, locate(sheet_.of, at))));
      } catch (...) {
        fails(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) ended_.notify_all();
    }
  }
  // The first failure is the one to tell.
  void fails(std::exception_ptr why) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(why);
    }
    world_.stop();
  }

  score_sheet sheet_;
  double deadline_, grace_;
  std::vector<std::vector<std::int32_t>> members_;  // of each meeting
  World world_;
  std::vector<std::unique_ptr<Endpoint>> ends_;
  std::vector<std::unique_ptr<rank_player<Endpoint>>> players_;
  void (*job_)(void*, std::int32_t) = nullptr;
  void* argument_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::uint64_t turn_ = 0;
  std::int32_t running_ = 0;
  bool ending_ = false, failed_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they end before what they use
};

}  // namespace motet
