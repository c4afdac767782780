// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/data/samples/loader_config.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace motet {

// Batches made ahead of time by threads, in slots that are there once and come back in turn. What is in a
// batch is its maker's:
//   worker()                          what one thread works with
//   begin(worker, slot, number)       one batch after the other; what is drawn in order is drawn here
//   parts(slot)                       into how many it is cut
//   fill(worker, slot, part, at)      in any order, by any thread; `at` is where it is, for the order of problems
//   complete(worker, slot)            when all parts are there
// The maker outlives this, which is therefore its last member.
template <class Maker, class Slot>
class made_ahead {
 public:
  made_ahead(Maker& maker, isize slots) : maker_(maker), cells_(as_size(slots)) {}
  made_ahead(const made_ahead&) = delete;
  made_ahead& operator=(const made_ahead&) = delete;
  ~made_ahead() {
    tell_end();
    for (std::thread& each : threads_) each.join();
  }

  isize size() const { return static_cast<isize>(cells_.size()); }
  // Slots are prepared before start().
  Slot& slot(isize which) { return cells_[as_size(which)].slot; }
  void start(int threads) {
    make_threads(
        threads_, "threads that prepare data", 0, threads,
        [this](int) { return std::thread([this] { work(); }); }, [this] { tell_end(); });
  }

  // The next batch, valid until the next call. Throws what went wrong while it was made, again on every later
  // call.
  const Slot& next() {
    std::unique_lock hold(guard_);
    if (holding_) {
      at(delivered_).state = cell::free;
      ++delivered_;
      holding_ = false;
      to_do_.notify_all();
    }
    cell& own = at(delivered_);
    if (own.state != cell::ready) {
      const auto from = std::chrono::steady_clock::now();
      done_.wait(hold, [&] { return own.state == cell::ready; });
      statistics_.wait_seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }
    if (own.problem) std::rethrow_exception(own.problem);
    holding_ = true;
    ++statistics_.batches;
    return own.slot;
  }
  // The one that next() will give, if it is made already, as valid as that one will be; else null.
  const Slot* ahead() const {
    const std::lock_guard hold(guard_);
    const cell& own = at(delivered_ + (holding_ ? 1 : 0));
    return own.state == cell::ready && !own.problem ? &own.slot : nullptr;
  }
  // Batches that next() gave.
  isize given() const {
    const std::lock_guard hold(guard_);
    return delivered_ + (holding_ ? 1 : 0);
  }
  loader_statistics statistics() const {
    const std::lock_guard hold(guard_);
    return statistics_;
  }

 private:
  struct cell {
    enum { free, filling, ready } state = free;
    Slot slot;
    isize parts = 0, open = 0, problem_at = 0;
    std::exception_ptr problem;
  };
  cell& at(isize number) { return cells_[as_size(number % size())]; }
  const cell& at(isize number) const { return cells_[as_size(number % size())]; }

  void tell_end() {
    {
      const std::lock_guard hold(guard_);
      stopping_ = true;
    }
    to_do_.notify_all();
  }

  template <class Body>
  static std::exception_ptr problem_of(std::unique_lock<std::mutex>& hold, Body&& body) {
    hold.unlock();
    std::exception_ptr problem;
    try {
      body();
    } catch (...) {
      problem = std::current_exception();
    }
    hold.lock();
    return problem;
  }
  void end(cell& own) {
    // No batch is begun behind one that failed; those begun before it are still finished.
    if (own.problem) failed_ = true;
    own.state = cell::ready;
    done_.notify_all();
  }

  void work() {
    auto worker = maker_.worker();
    std::unique_lock hold(guard_);
    while (true) {
      to_do_.wait(hold,
                  [&] { return stopping_ || (!failed_ && !beginning_ && claimed_ < delivered_ + size()); });
      if (stopping_) return;
      const isize number = claimed_;
      cell& own = at(number);
      if (claimed_part_ == 0) {
        own.state = cell::filling;
        beginning_ = true;
        own.problem = problem_of(hold, [&] { maker_.begin(worker, own.slot, number); });
        beginning_ = false;
        if (own.problem) {
          end(own);
          continue;
        }
        own.parts = own.open = std::max<isize>(1, maker_.parts(own.slot));
        to_do_.notify_all();
      }
      const isize part = claimed_part_;
      if (++claimed_part_ == own.parts) {
        claimed_part_ = 0;
        ++claimed_;
      }
      isize place = 0;
      const std::exception_ptr problem =
          problem_of(hold, [&] { maker_.fill(worker, own.slot, part, place); });
      // The first problem in the batch's order is told, whoever came first.
      if (problem && (!own.problem || place < own.problem_at)) {
        own.problem = problem;
        own.problem_at = place;
      }
      if (--own.open > 0) continue;
      if (!own.problem) own.problem = problem_of(hold, [&] { maker_.complete(worker, own.slot); });
      end(own);
    }
  }

  Maker& maker_;
  std::vector<cell> cells_;
  mutable std::mutex guard_;
  std::condition_variable to_do_, done_;
  isize claimed_ = 0, claimed_part_ = 0, delivered_ = 0;
  bool holding_ = false, stopping_ = false, failed_ = false, beginning_ = false;
  loader_statistics statistics_;
  std::vector<std::thread> threads_;
};

}  // namespace motet
