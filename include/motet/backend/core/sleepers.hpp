// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace motet {

// Threads sleep here until a word changes, and whoever changes it wakes them. A system gives a processor at
// once to who is woken, but to who yields one after all others had their turn, which is milliseconds each
// where a program has fewer processors than it thinks. std::atomic's wait yields before it sleeps, so this
// does not use it.
// Asks for: the word is changed by operations that are sequentially consistent, and wake() comes behind each.
// Memory: a number.
// Errors: none of its own.
// Example:
//   std::atomic<std::uint32_t> step{0};
//   sleepers at_home;
//   void wait_for_a_step() { at_home.sleep_while(step, 0u); }
//   void begin() { step.fetch_add(1), at_home.wake(step); }
class sleepers {
 public:
  // Returns when the word is another one, having slept or not.
  template <class Word>
  void sleep_while(const std::atomic<Word>& word, Word is) const {
    static_assert(sizeof(std::atomic<Word>) == sizeof(std::uint32_t),
                  "motet: a system watches words of four bytes");
    count_.fetch_add(1, std::memory_order_seq_cst);
    while (word.load(std::memory_order_seq_cst) == is) {
#if defined(__linux__)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, is, nullptr, nullptr, 0);
#else
      word.wait(is, std::memory_order_seq_cst);
#endif
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Wakes all who sleep; where nobody does it costs a look.
  template <class Word>
  void wake(std::atomic<Word>& word) const {
    if (count_.load(std::memory_order_seq_cst) == 0) return;
#if defined(__linux__)
    constexpr int all = 0x7fffffff;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, all, nullptr, nullptr, 0);
#else
    word.notify_all();
#endif
  }

 private:
  mutable std::atomic<int> count_{0};
};

// Lets another thread have this processor for a moment. False: others kept it for long, now or shortly
// before, so whoever waits for something small had better sleep.
inline bool yield_shortly() {
  using clock = std::chrono::steady_clock;
  constexpr auto shortly = std::chrono::microseconds(200);
  constexpr auto remembered = std::chrono::milliseconds(100);
  thread_local clock::time_point crowded_until{};
  const clock::time_point before = clock::now();
  if (before < crowded_until) return false;
  std::this_thread::yield();
  const clock::time_point now = clock::now();
  if (now - before <= shortly) return true;
  crowded_until = now + remembered;
  return false;
}

}  // namespace motet
