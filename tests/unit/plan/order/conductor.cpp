// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/conductor.hpp>

#include <motet/meta/mixed_bits.hpp>

#include "unit/plan/order/three_scores.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the identity plays the plan's own score") {
  const three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  for (const std::int32_t playing : {0, 1, 2}) CHECK(as_planned()({of.scores, even, playing}) == 0);
}

TEST_CASE("another score takes its turn where it is shorter by more than the margin") {
  const three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  CHECK(shortest_by_simulation{.margin = 0.1}({of.scores, even, 0}) == 2);
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 0}) == 0);
  // As long is not shorter.
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 1}) == 1);
  CHECK(shortest_by_simulation{.margin = 0}({of.scores, even, 2}) == 2);
}

TEST_CASE("scores take turns where samples are skewed, each where it is the shortest") {
  const three_scores of;
  std::int32_t playing = 0, changes = 0;
  motet::isize played[3] = {};
  std::uint64_t drawn = 1;
  for (int step = 0; step < 100; ++step) {
    // A third of the microbatches are eight times as heavy.
    list<double> work;
    for (int m = 0; m < 6; ++m) work.push(mixed_bits(drawn += golden_step) % 3 == 0 ? 8.0 : 1.0);
    const step_headers skewed = bringing(work);
    const std::int32_t next = shortest_by_simulation{.margin = 0}({of.scores, skewed, playing});
    for (std::int32_t k = 0; k < 3; ++k)
      CHECK(of.scores.seconds(next, skewed) <= of.scores.seconds(k, skewed));
    changes += next != playing ? 1 : 0;
    ++played[playing = next];
  }
  CHECK(changes > 10);
  CHECK(played[1] > 0);
  CHECK(played[2] > 0);
}

TEST_CASE("scores are compared each with its own order of samples") {
  const three_scores of;
  const step_headers skewed = bringing({8, 1, 1, 8, 1, 1});
  score_orders orders(of.scores, skewed, {});
  const coming_step listed{of.scores, skewed, 0}, ordered{of.scores, skewed, 0, false, &orders};
  for (std::int32_t k = 0; k < 3; ++k) {
    CHECK(listed.seconds(k) == of.scores.seconds(k, skewed));
    CHECK(ordered.seconds(k) == orders.of(k).seconds);
    CHECK(ordered.seconds(k) <= listed.seconds(k));
  }
  CHECK(ordered.seconds(2) < listed.seconds(2));
  const std::int32_t next = shortest_by_simulation{.margin = 0}(ordered);
  for (std::int32_t k = 0; k < 3; ++k) CHECK(ordered.seconds(next) <= ordered.seconds(k));
}

// By the times of 1F1B zero-bubble would be a sixth shorter; its own are a half longer.
TEST_CASE("a score that was tried and took longer than its simulation is left again") {
  three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  const shortest_by_simulation by{.margin = 0.1};
  const auto note = [&](std::int32_t score, double times) {
    of.scores.note(score, even, in_turn(6), of.takes(score, even, in_turn(6), times));
  };
  // Until it is known what the one that plays takes, it goes on.
  CHECK(by({of.scores, even, 0, true}) == 0);
  note(0, 1);
  CHECK(by({of.scores, even, 0}) == 2);
  CHECK(by({of.scores, even, 2, true}) == 2);
  note(2, 1.5);
  CHECK(by({of.scores, even, 2}) == 0);
  CHECK(by({of.scores, even, 0}) == 0);
}
