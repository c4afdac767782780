// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/core/sleepers.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

using namespace motet;

namespace {

// Two threads answer each other, each asleep until the other one has changed the word: a call that is lost
// leaves both asleep.
template <class Word>
Word last_of_answers(Word turns) {
  std::atomic<Word> word{0};
  const sleepers asleep;
  const auto play = [&](Word first) {
    for (Word turn = first; turn < turns; turn += 2) {
      for (Word seen; (seen = word.load(std::memory_order_acquire)) != turn;) asleep.sleep_while(word, seen);
      word.store(turn + 1, std::memory_order_seq_cst);
      asleep.wake(word);
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  return word.load();
}

}  // namespace

TEST_CASE("no call is lost between threads that sleep in turns") {
  CHECK_EQ(last_of_answers<std::uint32_t>(4000), 4000u);
  CHECK_EQ(last_of_answers<int>(4000), 4000);
}

TEST_CASE("who comes late does not sleep, and all who sleep are woken by one call") {
  std::atomic<std::uint32_t> word{1}, awake{0};
  const sleepers asleep;
  asleep.sleep_while(word, 0u);
  std::vector<std::thread> threads;
  int written = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      asleep.sleep_while(word, 1u);
      // What was written before the word is there for whoever slept.
      if (written == 7) awake.fetch_add(1);
    });
  written = 7;
  word.store(2, std::memory_order_seq_cst);
  asleep.wake(word);
  for (std::thread& each : threads) each.join();
  CHECK_EQ(awake.load(), 4u);
}

// More threads than processors never give theirs away, until one that yields finds out that it lost it for
// long.
TEST_CASE("a processor that others kept is remembered for a while") {
  std::atomic<bool> over{false};
  std::vector<std::thread> hogs;
  for (unsigned t = 0; t < 2 * std::thread::hardware_concurrency(); ++t)
    hogs.emplace_back([&] {
      while (!over.load(std::memory_order_relaxed)) {
      }
    });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool shortly = true;
  while (shortly && std::chrono::steady_clock::now() < end) shortly = yield_shortly();
  const auto lost = std::chrono::steady_clock::now();
  const bool again = yield_shortly();
  const bool soon = std::chrono::steady_clock::now() - lost < std::chrono::milliseconds(50);
  over = true;
  for (std::thread& each : hogs) each.join();
  CHECK_FALSE(shortly);
  if (soon) CHECK_FALSE(again);
}
