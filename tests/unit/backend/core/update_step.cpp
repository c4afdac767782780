// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/core/update_step.hpp>

#include <initializer_list>
#include <limits>

TEST_CASE("what is not finite allows no update, and clipping scales to the norm and never up") {
  using motet::update_sums;
  const double infinite = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(update_sums{}.allow());
  CHECK(update_sums{-3, 1e300}.allow());
  for (const double bad : {infinite, -infinite, nan}) {
    CHECK(!update_sums{bad, 1}.allow());
    CHECK(!update_sums{1, bad}.allow());
  }
  CHECK(update_sums{0, 16, 1}.norm() == 4);
  CHECK(update_sums{0, 16, 1}.scale() == 1 / (4 + 1e-6));
  CHECK(update_sums{0, 16, 4}.scale() == 1);
  CHECK(update_sums{0, 16, 0}.scale() == 1);
}

TEST_CASE("an update that nobody set changes nothing") {
  const motet::update_step step;
  CHECK(step.rate == 0);
  CHECK(step.decay == 0);
  CHECK(step.clip_scale == 1);
  CHECK(step.correction1 == 1);
  CHECK(step.correction2 == 1);
}
