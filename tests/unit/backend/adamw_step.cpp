// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/adamw_step.hpp>

TEST_CASE("an update that nobody set changes nothing") {
  const motet::adamw_step step;
  CHECK(step.rate == 0);
  CHECK(step.decay == 0);
  CHECK(step.clip_scale == 1);
  CHECK(step.correction1 == 1);
  CHECK(step.correction2 == 1);
}
