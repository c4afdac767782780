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
  const motet::isize trainable = list.items()[5].offset;
  const auto runs = update_runs(list.items(), trainable);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].decay);
  CHECK(!runs[1].decay);
  CHECK(runs[2].decay);
  motet::isize next = 0;
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
  const optimizer_settings settings{0.9, 0.99, 1e-8, 0.3, 1};
  const auto third = update_step_for(settings, 3, 0.01, 0.5, true);
  CHECK(third.decay == 0.3);
  CHECK(third.clip_scale == 0.5);
  CHECK(third.correction1 == doctest::Approx(1 - 0.729));
  CHECK(third.correction2 == doctest::Approx(1 - 0.970299));
  CHECK(update_step_for(settings, 3, 0.01, 0.5, false).decay == 0);
}

TEST_CASE("rates fall from block to block, and Muon's matrices stand by themselves") {
  parameter_list list;
  list.in_block(parameter::before_blocks, [&] { list.matrix("embed", 4, 4, {}); });
  for (motet::isize k = 0; k < 2; ++k)
    list.in_block(k, [&] {
      list.matrix("weight", 4, 4, {});
      list.stacked(2, [&] { list.matrix("experts", 6, 3, {}); });
      list.vector("bias", 4, {});
      list.matrix("row", 1, 4, {});
    });
  list.matrix("head", 4, 4, {});
  const motet::isize all = list.used();
  const auto runs = update_runs(list.items(), all, optimizer_kind::muon, {.rate = 2, .layers = 0.5}, 2);
  motet::isize next = 0, matrices = 0;
  for (const parameter_run& each : runs) {
    CHECK(each.offset >= next);
    CHECK(each.offset < next + 16);
    next = each.offset + each.size;
    const double wanted = each.offset < 16                    ? 0.25
                          : each.offset >= all - 16           ? 2
                          : each.offset < (all - 32) / 2 + 16 ? 0.5
                                                              : 1;
    CHECK(each.rate == wanted);
    if (each.rows > 0) CHECK(each.stacked == (each.rows == 6 ? 2 : 1));
    matrices += each.rows > 0 ? 1 : 0;
  }
  CHECK(next == all);
  CHECK(matrices == 4);
  CHECK(update_runs(list.items(), all, optimizer_kind::lion).size() == 5);
  CHECK(name_of(optimizer_kind::lion) == "lion");
}
