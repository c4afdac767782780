// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/sleepers.hpp>
#include <motet/backend/groups/noted_wait.hpp>
#include <motet/backend/groups/turns.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>

namespace motet {

// A courier is a thread of a rank that makes calls of groups and waits for them while the rank computes: on
// processors a call moves on only when one of the rank's threads looks. From the first call that is sent
// until the last one is done, the courier uses the rank's end of the transport instead of who sends, so the
// end still sees one thread at a time. Nothing is allocated by a call.
class courier {
 public:
  using number = std::uint32_t;

  template <takes_turns End>
  explicit courier(End& end)
      : end_(&end),
        stop_([](void* self) { static_cast<End*>(self)->stop("of an error that it tells itself"); }),
        take_over_([](void* self) {
          if constexpr (requires(End& one) { one.take_over(); }) static_cast<End*>(self)->take_over();
        }),
        thread_([this] { work(); }) {}
  courier(const courier&) = delete;
  courier& operator=(const courier&) = delete;
  ~courier() {
    ends_.store(true, std::memory_order_relaxed);
    sent_.fetch_add(1, std::memory_order_seq_cst);
    asleep_.wake(sent_);
    thread_.join();
  }

  // call() runs behind those that were sent before; what it refers to stays until it is done. When as many as
  // there is room for are under way, the oldest is waited for.
  template <class Call>
  number send(const Call& call) {
    static_assert(std::is_trivially_copyable_v<Call>, "motet: a courier is sent with plain values");
    static_assert(sizeof(Call) <= sizeof(errand::call), "motet: a courier carries a few values at a time");
    const number now = sent_.load(std::memory_order_relaxed);
    if (now - done_.load(std::memory_order_acquire) >= room) wait(now - room);
    errand& one = errands_[now % room];
    ::new (static_cast<void*>(one.call)) Call(call);
    one.run = [](std::byte* held) { (*std::launder(reinterpret_cast<Call*>(held)))(); };
    sent_.store(now + 1, std::memory_order_seq_cst);
    asleep_.wake(sent_);
    return now;
  }
  // Until this one is done; throws what went wrong with it, or with one before.
  void wait(number which) {
    until(which);
    require_success();
  }
  // Until all are done; then who sends uses the end again.
  void rest() {
    until(sent_.load(std::memory_order_relaxed) - 1);
    take_over_(end_);
    require_success();
  }
  // The same after a failure of who sends: what is under way is ended on all ranks, and throws nothing.
  void give_up() noexcept {
    if (done_.load(std::memory_order_acquire) != sent_.load(std::memory_order_relaxed)) stop_(end_);
    try {
      rest();
    } catch (...) {  // of the stop
    }
  }

 private:
  static constexpr number room = 16;
  struct errand {
    void (*run)(std::byte* held) = nullptr;
    alignas(std::max_align_t) std::byte call[96];
  };

  void until(number which) const {
    if (static_cast<std::int32_t>(done_.load(std::memory_order_acquire) - which) > 0) return;
    const noted_wait noted(wait_for::rows);
    for (;;) {
      const number done = done_.load(std::memory_order_acquire);
      if (static_cast<std::int32_t>(done - which) > 0) return;
      asleep_.sleep_while(done_, done);
    }
  }
  void require_success() const {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  }
  void work() {
    for (number next = 0;; ++next) {
      asleep_.sleep_while(sent_, next);
      if (ends_.load(std::memory_order_relaxed)) return;
      if (!failed_.load(std::memory_order_relaxed)) {
        take_over_(end_);
        try {
          errands_[next % room].run(errands_[next % room].call);
        } catch (...) {
          failure_ = std::current_exception();
          failed_.store(true, std::memory_order_release);
        }
      }
      done_.store(next + 1, std::memory_order_seq_cst);
      asleep_.wake(done_);
    }
  }

  void* end_;
  void (*stop_)(void*);
  void (*take_over_)(void*);
  errand errands_[room];
  std::atomic<number> sent_{0}, done_{0};
  sleepers asleep_;
  std::atomic<bool> ends_{false}, failed_{false};
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the rest at once
};

// Calls that a rank makes while it computes: the courier makes them, or, where the rank has none, the rank
// itself at once. At the end of the scope all are done; where it ends with an exception, they are broken off.
class calls_beside {
 public:
  explicit calls_beside(courier* by) : by_(by) {}
  calls_beside(const calls_beside&) = delete;
  calls_beside& operator=(const calls_beside&) = delete;
  ~calls_beside() {
    if (by_ != nullptr && !finished_) by_->give_up();
  }

  template <class Call>
  courier::number begin(const Call& call) {
    if (by_ != nullptr) return by_->send(call);
    call();
    return 0;
  }
  void finish(courier::number which) {
    if (by_ != nullptr) by_->wait(which);
  }
  // All of them.
  void finish() {
    if (by_ != nullptr) by_->rest();
    finished_ = true;
  }

 private:
  courier* by_;
  bool finished_ = false;
};

}  // namespace motet
