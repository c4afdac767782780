// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/core/flat_runs.hpp>

TEST_CASE("a run that nobody set has nothing to move") {
  const motet::update_run<float> run;
  CHECK(run.count == 0);
  CHECK(!run.decays);
  CHECK(!run.only_clears);
  CHECK(motet::flat_run<double>{}.count == 0);
}
