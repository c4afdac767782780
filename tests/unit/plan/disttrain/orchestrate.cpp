// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/orchestrate.hpp>

#include "unit/plan/disttrain/counted_speech.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the best plan is no slower than any other plan that was looked at") {
  for (const double eye : {1e8, 1e9, 4e9})
    for (const bool learns : {true, false}) {
      const counted_graph of = counted_speech({.ranks = 3, .samples = 8, .eye = eye, .eye_learns = learns});
      const promised_plans found = orchestrate(of);
      REQUIRE(!found.plans.empty());
      double least = 1e300;
      each_graph_plan(of, [&](const plan& how) { least = std::min(least, detail::seconds_of(of, how)); });
      // All were played, or those that the formula left out are not much better.
      CHECK(found.plans.front().seconds <= 1.05 * least);
      CHECK(found.plans.front().seconds >= least);
      for (const promised_plan& each : found.plans) CHECK(each.seconds >= found.plans.front().seconds);
    }
}

TEST_CASE("on one rank a step takes the work of all samples") {
  const counted_graph of = counted_speech({.ranks = 1, .samples = 8, .cuts = false});
  const promised_plans found = orchestrate(of);
  REQUIRE(!found.plans.empty());
  // Three times forward of each module, and its updates.
  const double work = 8 * 3 * (1e9 + 1e6 + 1e9) / 1e11;
  CHECK(found.plans.front().seconds >= work);
  CHECK(found.plans.front().seconds <= 1.1 * work);
}

TEST_CASE("more ranks make no best step longer, and an eye that rests asks for fewer of them") {
  double before = 1e300;
  for (const std::int32_t ranks : {1, 2, 4}) {
    const promised_plans found = orchestrate(counted_speech({.ranks = ranks, .samples = 32}));
    REQUIRE(!found.plans.empty());
    CHECK(found.plans.front().seconds <= before * (1 + 1e-9));
    before = found.plans.front().seconds;
  }
  const auto best = [](bool learns) {
    return orchestrate(counted_speech({.ranks = 4, .samples = 32, .eye_learns = learns}))
        .plans.front()
        .seconds;
  };
  CHECK(best(false) < 0.8 * best(true));
}

TEST_CASE("a plan is played with what samples bring, not with their mean") {
  // Of a pipeline, microbatches of unlike weight take longer than equal ones with as much work together.
  counted_graph skewed = counted_speech({.ranks = 2, .samples = 8, .eye = 4e9, .sigma = 1});
  counted_graph even = skewed;
  for (isize k = 0; k < 3; ++k) {
    const double mean = skewed.mean_load(k);
    for (step_headers& each : even.steps)
      for (std::int32_t s = 0; s < each.samples; ++s) each.work[k * each.samples + s] = mean;
  }
  motet::isize compared = 0;
  each_graph_plan(skewed, [&](const plan& how) {
    if (how.modules[0].on.find(how.modules[2].on.ranks()[0]) >= 0 || how.modules[0].microbatches < 8) return;
    ++compared;
    CHECK(detail::seconds_of(skewed, how) > detail::seconds_of(even, how));
  });
  CHECK(compared > 0);
}
