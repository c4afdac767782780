// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/cast_scores.hpp>

#include "unit/plan/order/three_scores.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a step takes what the simulation of its score says, with the work of its samples") {
  const three_scores of;
  REQUIRE(of.scores.size() == 3);
  CHECK(!of.scores.measured());
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  // Six microbatches of three units, and two fills of the pipeline; zero-bubble fills a third less.
  CHECK(of.scores.seconds(0, even) == doctest::Approx(24));
  CHECK(of.scores.seconds(1, even) == doctest::Approx(24));
  CHECK(of.scores.seconds(2, even) == doctest::Approx(20));
  const step_headers skewed = bringing({4, 1, 1, 1, 1, 1});
  for (std::int32_t k = 0; k < 3; ++k) CHECK(of.scores.seconds(k, skewed) > of.scores.seconds(k, even));
}

TEST_CASE("a score whose clock is doubted takes what is less, until it is recorded again") {
  three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  const auto note = [&](std::int32_t score, double times) {
    of.scores.note(score, even, in_turn(6), of.takes(score, even, in_turn(6), times));
  };
  const auto seconds = [&](std::int32_t score) { return of.scores.seconds(score, even); };
  note(2, 1.5);
  note(0, 1);
  CHECK(seconds(2) == doctest::Approx(30));
  of.scores.doubt(2);
  CHECK_FALSE(of.scores.measured(2));
  CHECK(seconds(2) == doctest::Approx(20));
  // It was quick when it was recorded, and others are slow by now.
  note(1, 3);
  CHECK(seconds(2) == doctest::Approx(30));
  // What is recorded now counts alone.
  note(2, 2);
  CHECK(of.scores.measured(2));
  CHECK(seconds(2) == doctest::Approx(40));
  // The last one that was recorded tells what others take.
  of.scores.doubt(2);
  CHECK(of.scores.measured(2));
}

TEST_CASE("a recorded step of one score tells what all take, but for those that were recorded themselves") {
  three_scores of;
  const step_headers skewed = bringing({4, 1, 2, 1, 1, 3});
  const program& first = of.all[0];
  // Places are so many times as slow as was counted, the second one and the third still slower.
  const auto costs = [&](double times) {
    cost_table slow;
    for (const double each : {2.0, 3.0, 4.0}) slow.stages.push({times * each, times * each, times * each});
    slow.joins.resize(first.joins, 0.0);
    slow.updates.resize(3, 0.0);
    slow.reductions.resize(3, 0.0);
    slow.scale.resize(first.cells(), 0.0);
    const voice& sings = first.voices[0];
    for (std::int32_t s = 0; s < 3; ++s)
      for (std::int32_t m = 0; m < 6; ++m) slow.scale[sings.cell(s, m)] = skewed.work_of(0, m);
    return slow;
  };
  const auto takes = [&](std::int32_t score, double times) {
    timeline when;
    REQUIRE(simulate(of.all[score], costs(times), when).ok());
    return when;
  };
  const auto all_take = [&](double times0, double times1, double times2) {
    const double times[] = {times0, times1, times2};
    for (std::int32_t k = 0; k < 3; ++k)
      CHECK(of.scores.seconds(k, skewed) == doctest::Approx(takes(k, times[k]).makespan).epsilon(0.02));
  };
  of.scores.note(1, skewed, in_turn(6), takes(1, 1));
  CHECK(of.scores.measured());
  CHECK(of.scores.measured(1));
  CHECK(!of.scores.measured(2));
  all_take(1, 1, 1);
  // Zero-bubble takes longer than its simulation by others' times.
  of.scores.note(2, skewed, in_turn(6), takes(2, 1.5));
  all_take(1.5, 1, 1.5);
  of.scores.note(0, skewed, in_turn(6), takes(0, 1));
  all_take(1, 1, 1.5);
}
