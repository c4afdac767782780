// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/sleepers.hpp>
#include <motet/runtime/state/far_memory.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

namespace motet {

// A thread of a rank that moves what backward needs to far memory and back while the rank computes: one move
// at a time, as a rank's list has them one behind the other.
class far_mover {
 public:
  // The end is woken when a move is over, from the mover's own thread.
  template <class End>
  explicit far_mover(End& end)
      : end_(&end), wake_([](void* self) { static_cast<End*>(self)->wake(); }), thread_([this] { work(); }) {}
  far_mover(const far_mover&) = delete;
  far_mover& operator=(const far_mover&) = delete;
  ~far_mover() {
    rest();
    tell(over);
    thread_.join();
  }

  // Begins the move, or looks at the one that was begun: whether it is over. Throws what went wrong with it.
  bool moved(const far_move& wanted) {
    if (state_.load(std::memory_order_acquire) == idle) {
      now_ = wanted;
      tell(asked);
      return false;
    }
    if (state_.load(std::memory_order_acquire) != done) return false;
    state_.store(idle, std::memory_order_relaxed);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return true;
  }
  // Whether a move was begun that moved() did not say to be over.
  bool is_busy() const { return state_.load(std::memory_order_relaxed) != idle; }
  // Waits until no move is under way: then memory may be given back.
  void rest() {
    asleep_.sleep_while(state_, static_cast<std::uint32_t>(asked));
    state_.store(idle, std::memory_order_relaxed);
  }

 private:
  enum state : std::uint32_t { idle, asked, done, over };

  void tell(state next) {
    state_.store(next, std::memory_order_seq_cst);
    asleep_.wake(state_);
  }
  void work() {
    for (;;) {
      std::uint32_t seen = state_.load(std::memory_order_acquire);
      while (seen != asked && seen != over) {
        asleep_.sleep_while(state_, seen);
        seen = state_.load(std::memory_order_acquire);
      }
      if (seen == over) return;
      try {
        now_.run();
      } catch (...) {
        failure_ = std::current_exception();
      }
      tell(done);
      wake_(end_);
    }
  }

  void* end_;
  void (*wake_)(void*);
  far_move now_;
  std::atomic<std::uint32_t> state_{idle};
  sleepers asleep_;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the rest at once
};

}  // namespace motet
