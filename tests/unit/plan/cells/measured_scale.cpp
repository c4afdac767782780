// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cells/measured_scale.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("measured times pull estimates towards them, and bars shrink") {
  measured_scale scale(0.05);
  const uncertain before{10, 6, provenance::modelled};
  CHECK(scale.correct(before) == before);
  scale.learn(5, 10);  // another size of the same model took twice what was thought
  const uncertain once = scale.correct(before);
  CHECK(once.value > 19);
  CHECK(once.value < 20);
  CHECK(once.from == provenance::corrected);
  CHECK(once.relative_bar() < 0.06);
  for (int i = 0; i < 20; ++i) scale.learn(5, 10);
  CHECK(scale.measured() == 21);
  CHECK(scale.correct(before).relative_bar() < once.relative_bar());
  CHECK(scale.correct(before).value == doctest::Approx(20).epsilon(1e-3));
}
TEST_CASE("what is sure stays, and what is no time teaches nothing") {
  measured_scale scale;
  scale.learn(0, 10);
  scale.learn(10, -1);
  CHECK(scale.measured() == 0);
  scale.learn(10, 20);
  const uncertain sure{3, 0, provenance::measured};
  CHECK(scale.correct(sure) == sure);
  // With a narrow bar one noisy time counts little.
  const uncertain nearly{10, 0.05, provenance::interpolated};
  CHECK(scale.correct(nearly).value < 10.1);
}
