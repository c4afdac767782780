// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/optimizer.hpp>

#include <motet/backend/cpu/parameters/optimizer.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("runs cover the trainable part once and change only where decay does") {
  parameter_list list;
  list.matrix("a", 3, 5, {});
  list.matrix("b", 4, 4, {});
  list.vector("bias", 3, {});
  list.vector("gain", 3, {});
  list.matrix("c", 2, 2, {});
  list.matrix("frozen", 2, 2, {});
  const motet::index trainable = list.items()[5].offset;
  const auto runs = decay_runs(list.items(), trainable);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].decay);
  CHECK(!runs[1].decay);
  CHECK(runs[2].decay);
  motet::index next = 0;
  for (const parameter_run& run : runs) {
    CHECK(run.offset == next);
    next += run.size;
  }
  CHECK(next == trainable);
}

TEST_CASE("clipping scales to the norm and never up") {
  CHECK(clip_scale(0.5, 1) == 1);
  CHECK(clip_scale(4, 1) == doctest::Approx(0.25));
  CHECK(clip_scale(1e9, 0) == 1);
}

TEST_CASE("settings of an update follow the formulas") {
  const adamw_settings settings{0.9, 0.99, 1e-8, 0.3, 1};
  const auto third = adamw_step_for<cpu::adamw_step>(settings, 3, 0.01, 0.5, true);
  CHECK(third.decay == 0.3);
  CHECK(third.clip_scale == 0.5);
  CHECK(third.correction1 == doctest::Approx(1 - 0.729));
  CHECK(third.correction2 == doctest::Approx(1 - 0.970299));
  CHECK(adamw_step_for<cpu::adamw_step>(settings, 3, 0.01, 0.5, false).decay == 0);
}
