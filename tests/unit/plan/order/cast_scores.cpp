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

TEST_CASE("a recorded step of one score tells what all take") {
  three_scores of;
  const step_headers skewed = bringing({4, 1, 2, 1, 1, 3});
  timeline when;
  // Places are twice, three and four times as slow as was counted.
  cost_table slow;
  for (const double each : {2.0, 3.0, 4.0}) slow.stages.push({each, each, each});
  slow.joins.resize(of.all[1].joins, 0.0);
  slow.updates.resize(3, 0.0);
  slow.reductions.resize(3, 0.0);
  slow.scale.resize(of.all[1].cells(), 0.0);
  const voice& sings = of.all[1].voices[0];
  for (std::int32_t s = 0; s < 3; ++s)
    for (std::int32_t m = 0; m < 6; ++m) slow.scale[sings.cell(s, m)] = skewed.work_of(0, m);
  REQUIRE(simulate(of.all[1], slow, when).ok());
  of.scores.note(1, skewed, when);
  CHECK(of.scores.measured());
  for (std::int32_t k = 0; k < 3; ++k) {
    timeline wanted;
    REQUIRE(simulate(of.all[k], slow, wanted).ok());
    CHECK(of.scores.seconds(k, skewed) == doctest::Approx(wanted.makespan).epsilon(0.02));
  }
}
