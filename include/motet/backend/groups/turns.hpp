// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <mutex>
#include <thread>
#include <utility>

namespace motet {

// Where several threads of a rank use its end of a transport, they do it by turns: whoever has the turn
// calls, looks and keeps the books, and lets the others do so while it computes or sleeps. A rank of one
// thread locks nothing.
class turns {
 public:
  // So many threads use the end from now on; none does at this moment.
  void share(int threads) { threads_ = threads; }
  int threads() const { return threads_; }

  // Has the turn as long as it lives; who has it already goes on having it.
  class [[nodiscard]] turn {
   public:
    explicit turn(turns& of) : of_(of.threads_ > 1 ? &of : nullptr) {
      if (of_ != nullptr) of_->enter();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (of_ != nullptr) of_->leave();
    }

   private:
    turns* of_;
  };
  // The others may have the turn while body() runs; this thread has it again behind that, if it had it.
  template <class Body>
  void apart(Body&& body) {
    if (threads_ == 1 || !is_mine()) return body();
    const outside left(*this);
    body();
  }

 private:
  class outside {
   public:
    explicit outside(turns& of) : of_(of), depth_(std::exchange(of.depth_, 1)) { of_.leave(); }
    outside(const outside&) = delete;
    outside& operator=(const outside&) = delete;
    ~outside() {
      of_.enter();
      of_.depth_ = depth_;
    }

   private:
    turns& of_;
    int depth_;
  };

  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void enter() {
    if (is_mine()) {
      ++depth_;
      return;
    }
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
  }
  void leave() {
    if (--depth_ > 0) return;
    owner_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }

  int threads_ = 1;
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  int depth_ = 0;  // how often the owner entered
};

struct no_work {
  void operator()() const {}
};
// Ends that only one thread of a rank may use have no turns. (To nvcc no end had any while a lambda stood
// here.)
template <class End>
concept takes_turns = requires(End& end) {
  requires End::takes_turns;
  end.share(2);
  { end.turn() } -> std::same_as<turns::turn>;
  end.apart(no_work{});
  end.wake();
  end.stop("why");
};

struct no_turn {};
template <class End>
auto turn_of([[maybe_unused]] End& end) {
  if constexpr (takes_turns<End>) return end.turn();
  else return no_turn{};
}

}  // namespace motet
