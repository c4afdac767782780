// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/ranks/blocked.hpp>
#include <motet/runtime/ranks/meeting_members.hpp>
#include <motet/runtime/ranks/score_sheets.hpp>
#include <motet/schedule/simulate/causes.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

namespace motet {

// The ranks of a program, or of several that take turns, as threads of this process. Threads stay between
// steps. A rank that fails stops the others; ranks that do not end in time are stopped too, and the error
// says who waits for whom.
template <class World, class Endpoint>
class thread_ranks {
 public:
  using player_type = rank_player<Endpoint>;

  // Seconds for a step (0: any time); for ranks that are late to end the instruction that they are in; and
  // for all ranks to wait for each other, after which nobody will come (0: any time).
  thread_ranks(program from, double deadline, double grace = 60, double patience = 8)
      : thread_ranks(only(std::move(from)), deadline, grace, patience) {}
  // Programs of one cast, of which play() says whose turn it is.
  thread_ranks(std::vector<program> all, double deadline, double grace = 60, double patience = 8)
      : sheets_(std::move(all)),
        deadline_(deadline),
        grace_(grace),
        patience_(patience),
        members_(sheets_[0]),
        ended_ranks_(as_size(sheets_[0].of.ranks())),
        world_(sheets_[0].of.ranks(), sheets_.messages(), members_.all()),
        players_(as_size(sheets_.size())) {
    for (std::int32_t r = 0; r < sheet().of.ranks(); ++r) {
      ends_.push_back(std::make_unique<Endpoint>(world_, r));
      for (std::int32_t k = 0; k < sheets_.size(); ++k)
        players_[as_size(k)].push_back(
            std::make_unique<player_type>(sheets_[k], r, *ends_.back(), k > 0 ? &player(r, 0) : nullptr));
      local_.push_back(r);
    }
  }
  thread_ranks(const thread_ranks&) = delete;
  thread_ranks& operator=(const thread_ranks&) = delete;
  ~thread_ranks() {
    tell_end();
    for (std::thread& each : threads_) each.join();
  }

  // The sheet of the step under way, or of the last one.
  const score_sheet& sheet() const { return sheets_.now(); }
  const score_sheets& sheets() const { return sheets_; }
  // The next step plays this one; between steps.
  void play(std::int32_t score) { sheets_.play(score); }
  // The ranks that live in this process: all.
  const std::vector<std::int32_t>& local_ranks() const { return local_; }
  World& world() { return world_; }
  Endpoint& end(std::int32_t rank) { return *ends_[as_size(rank)]; }
  player_type& player(std::int32_t rank) { return player(rank, sheets_.playing()); }
  player_type& player(std::int32_t rank, std::int32_t score) {
    return *players_[as_size(score)][as_size(rank)];
  }
  std::int32_t member(std::int32_t meeting, std::int32_t rank) const {
    return members_.member(meeting, rank);
  }
  std::int32_t members(std::int32_t meeting) const { return members_.size(meeting); }
  std::int32_t updaters() const { return members_.updaters(); }

  // There is one process, so the sum is there.
  template <class T>
  void sum(T*, isize) {}

  // Makes the threads, and returns when all are there, so that no step does either.
  void start() {
    if (!threads_.empty()) return;
    begun_ = 0;
    make_threads(
        threads_, "ranks as threads", 0, sheet().of.ranks(),
        [this](std::int32_t rank) { return std::thread([this, rank] { work(rank); }); },
        [this] {
          failed_ = true;
          tell_end();
        });
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return begun_ == sheet().of.ranks(); });
  }

  // Runs the program once. `prepare(rank)` is called on each rank's thread first.
  template <class Prepare>
  void run(Prepare&& prepare, timeline* record = nullptr) {
    if (failed_) fail(ranks_failed_before);
    start();
    if (record != nullptr) {
      *record = {};
      record->start.resize(sheet().of.instructions.size(), 0);
      record->finish.resize(sheet().of.instructions.size(), 0);
    }
    const auto zero = clock::now();
    if constexpr (requires { world_.mark_zero(); })
      if (record != nullptr) world_.mark_zero();
    for (auto& each : playing()) each->record(record, zero);
    auto job = [&prepare](std::int32_t rank) { prepare(rank); };
    job_ = [](void* what, std::int32_t rank) { (*static_cast<decltype(job)*>(what))(rank); };
    argument_ = &job;
    {
      std::unique_lock lock(mutex_);
      running_ = sheet().of.ranks();
      ++turn_;
      std::fill(ended_ranks_.begin(), ended_ranks_.end(), false);
      wake_.notify_all();
      watch(lock);
    }
    if (failure_) {
      failed_ = true;
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    if (record == nullptr) return;
    for (const auto& each : playing()) each->add_gaps(record->gaps);
    find_causes(sheet().of, sheet().graph, *record);
  }

  // Ranks of one process run the same thing.
  template <class Identity>
  void require_same(const Identity&) {}
  // Seconds in which the ranks end when all wait for each other.
  void set_bound(double seconds) { patience_ = 0.8 * seconds; }
  // Ranks that wait in vain name this.
  void note_checkpoint(std::string which) { checkpoint_ = std::move(which); }

  // Says who waits for whom, a line for each lane that is not through.
  std::string report() const {
    return who_waits(sheet(), [this](auto visit) { this->each_lane(visit); });
  }

 private:
  using clock = std::chrono::steady_clock;

  const std::vector<std::unique_ptr<player_type>>& playing() const {
    return players_[as_size(sheets_.playing())];
  }
  void tell_end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
  }
  template <class Visit>
  void each_lane(Visit visit) const {
    for (const auto& each : playing()) each->each_lane(visit);
  }

  bool all_end(std::unique_lock<std::mutex>& lock, double seconds) {
    const auto ended = [&] { return running_ == 0; };
    if (seconds > 0) return ended_.wait_for(lock, std::chrono::duration<double>(seconds), ended);
    ended_.wait(lock, ended);
    return true;
  }
  // Waits until all ranks have ended, or there is no use in waiting.
  void watch(std::unique_lock<std::mutex>& lock) {
    const auto begin = clock::now();
    const auto since = [&] { return std::chrono::duration<double>(clock::now() - begin).count(); };
    for (;;) {
      const double left = deadline_ > 0 ? std::max(deadline_ - since(), 1e-3) : 0;
      const double look = patience_ > 0 && (deadline_ <= 0 || patience_ / 4 < left) ? patience_ / 4 : left;
      if (all_end(lock, look)) return;
      if (deadline_ > 0 && since() >= deadline_)
        return stop_ranks(lock, error(ranks_too_late, sentence({"after ", deadline_, " s", report()})));
      if (patience_ > 0 && nobody_comes())
        return stop_ranks(lock,
                          error(rank_waits_in_vain,
                                sentence({"all ranks wait for more than ", patience_, " s; last checkpoint: ",
                                          (checkpoint_.empty() ? "none" : checkpoint_), report()})));
    }
  }
  // Says whether every rank that has not ended sleeps, and has for long: each computes no more, and only
  // another can wake it. All are asked of one moment, so that none can have woken another in between.
  bool nobody_comes() const {
    if constexpr (requires { world_.sleeps_since(0, clock::time_point{}); }) {
      const auto moment = clock::now() - std::chrono::duration_cast<clock::duration>(
                                             std::chrono::duration<double>(patience_));
      for (std::int32_t r = 0; r < sheet().of.ranks(); ++r)
        if (!ended_ranks_[as_size(r)] && !world_.sleeps_since(r, moment)) return false;
      return true;
    } else return false;
  }
  void stop_ranks(std::unique_lock<std::mutex>& lock, const error& why) {
    failed_ = true;
    world_.stop();
    if (!all_end(lock, grace_)) {
      // A thread within an instruction cannot be stopped from outside, and this object cannot be left while
      // it runs.
      std::fprintf(stderr, "%s\n", why.what());
      std::abort();
    }
    if (!failure_) throw why;
  }

  void work(std::int32_t rank) {
    std::uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      if (++begun_ == sheet().of.ranks()) ended_.notify_all();
    }
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ending_ || turn_ != seen; });
        if (ending_) return;
        seen = turn_;
      }
      try {
        job_(argument_, rank);
        player(rank).run();
      } catch (const typename World::stopped&) {
      } catch (const error& problem) {
        const std::int32_t at = player(rank).current();
        fails(at < 0 ? std::current_exception()
                     : std::make_exception_ptr(error(problem, locate(sheet().of, at))));
      } catch (...) {
        fails(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      ended_ranks_[as_size(rank)] = true;
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

  score_sheets sheets_;
  double deadline_, grace_, patience_;
  meeting_members members_;
  std::vector<bool> ended_ranks_;  // in this step
  std::string checkpoint_;
  World world_;
  std::vector<std::int32_t> local_;
  std::vector<std::unique_ptr<Endpoint>> ends_;
  std::vector<std::vector<std::unique_ptr<player_type>>> players_;  // of each score, of each rank
  void (*job_)(void*, std::int32_t) = nullptr;
  void* argument_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::uint64_t turn_ = 0;
  std::int32_t begun_ = 0, running_ = 0;  // threads; and those of them that are not through with a step
  bool ending_ = false, failed_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they end before what they use
};

}  // namespace motet
