// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>

#include <motet/data/steps/made_ahead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

using namespace motet;

namespace {

// Each batch is numbers that follow those of the batch before it: one more each time, so some have several
// parts.
struct counter {
  struct slot {
    std::vector<motet::isize> numbers;
    motet::isize first = 0, sum = 0;
  };
  struct hand {
    int made = 0;
  };
  hand worker() { return {}; }
  void begin(hand&, slot& own, motet::isize number) {
    CHECK(++beginning == 1);
    if (number == fails_at_begin) throw std::runtime_error("begin");
    own.first = next;
    own.numbers.assign(static_cast<std::size_t>(number % 5), 0);
    for (motet::isize& each : own.numbers) each = next++;
    --beginning;
  }
  motet::isize parts(const slot& own) const { return static_cast<motet::isize>(own.numbers.size()); }
  void fill(hand&, slot& own, motet::isize part, motet::isize& at) {
    at = part;
    if (part < parts(own)) own.numbers[static_cast<std::size_t>(part)] *= 2;
    if (own.numbers.size() > 2 && own.first == fails_at_fill)
      throw std::runtime_error("fill " + std::to_string(part));
  }
  void complete(hand&, slot& own) {
    own.sum = 0;
    for (const motet::isize each : own.numbers) own.sum += each;
  }
  motet::isize next = 0, fails_at_begin = -1, fails_at_fill = -1;
  std::atomic<int> beginning = 0;
};

std::string what_of(made_ahead<counter, counter::slot>& made) {
  try {
    made.next();
  } catch (const std::runtime_error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("batches come in order and whole, whatever the threads") {
  for (const int threads : {1, 2, 4}) {
    counter maker;
    made_ahead<counter, counter::slot> made(maker, 3);
    made.start(threads);
    motet::isize next = 0;
    for (motet::isize number = 0; number < 200; ++number) {
      const counter::slot& own = made.next();
      REQUIRE(own.numbers.size() == static_cast<std::size_t>(number % 5));
      motet::isize sum = 0;
      for (const motet::isize each : own.numbers) {
        CHECK(each == 2 * next);
        sum += 2 * next++;
      }
      CHECK(own.sum == sum);
      CHECK(made.given() == number + 1);
      CHECK(made.statistics().batches == number + 1);
    }
  }
}

TEST_CASE("what goes wrong is told in the order of the batches and of their parts, again and again") {
  for (const int threads : {1, 3}) {
    counter maker;
    maker.fails_at_fill = 13;  // the first number of batch 8, which has three parts
    made_ahead<counter, counter::slot> made(maker, 3);
    made.start(threads);
    for (int i = 0; i < 8; ++i) made.next();
    for (int again = 0; again < 2; ++again) CHECK(what_of(made).starts_with("fill "));
    counter other;
    other.fails_at_begin = 4;
    made_ahead<counter, counter::slot> begun(other, 2);
    begun.start(threads);
    for (int i = 0; i < 4; ++i) begun.next();
    for (int again = 0; again < 2; ++again) CHECK(what_of(begun) == "begin");
    CHECK(begun.ahead() == nullptr);
  }
}

TEST_CASE("it may end at any moment, and the next one can be seen before it is taken") {
  for (int i = 0; i < 20; ++i) {
    counter maker;
    made_ahead<counter, counter::slot> made(maker, 3);
    if (i == 0) continue;  // never started
    made.start(1 + i % 3);
    for (int k = 0; k < i % 4; ++k) made.next();
    if (i % 2 == 0) continue;
    const counter::slot* seen = nullptr;
    while ((seen = made.ahead()) == nullptr) std::this_thread::yield();
    CHECK(&made.next() == seen);
  }
}
