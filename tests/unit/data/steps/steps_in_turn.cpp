// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/data/steps/steps_in_turn.hpp>

#include <atomic>
#include <numeric>
#include <vector>

using namespace motet;

namespace {

// Each step sums the places of its samples, part by part.
struct adder {
  motet::isize batch;
  struct slot {
    struct {
      motet::isize first = 0, sum = 0;
      const std::byte* memory = nullptr;
    } batch;
    std::vector<motet::isize> sums;
    data_position after;
  };
  static constexpr motet::isize pieces = 3;

  int worker() const { return 0; }
  static motet::isize room() { return 16; }
  static void prepare(slot& own, std::byte* memory) { own.batch.memory = memory; }
  void plan(int, slot& own, data_position& at) const {
    own.batch.first = at.next;
    own.sums.assign(pieces, 0);
    at.next += batch;
    own.after = at;
  }
  static motet::isize parts(const slot&) { return pieces; }
  void fill(int, slot& own, motet::isize part, motet::isize&) const {
    for (motet::isize k = part; k < batch; k += pieces) own.sums[as_size(part)] += own.batch.first + k;
  }
  static void complete(int, slot& own) {
    own.batch.sum = std::accumulate(own.sums.begin(), own.sums.end(), motet::isize{0});
  }
};

struct ahead_and_threads {
  motet::isize ready;
  int threads;
};

}  // namespace

TEST_CASE("steps come one after the other, each in memory of its own, and the position is behind the last") {
  for (const int threads : {1, 3}) {
    steps_in_turn<adder> steps(data_position{7, 5, 100, 40}, ahead_and_threads{2, threads}, adder{10});
    CHECK(steps.memory().size() == 3 * 16);
    CHECK(steps.position().next == 40);
    for (motet::isize step = 0; step < 20; ++step) {
      const auto& made = steps.next();
      CHECK(made.first == 40 + 10 * step);
      CHECK(made.sum == 10 * made.first + 45);
      CHECK(made.memory == steps.memory().data() + 16 * (step % 3));
      CHECK(steps.position() == data_position{7, 5, 100, made.first + 10});
      if (const auto* const next = steps.ahead(); next != nullptr) CHECK(next->first == made.first + 10);
    }
    CHECK(steps.statistics().batches == 20);
  }
}
