// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/measured_pace.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// A block of one sample takes 2 ms more than half of what one of eight takes, as small microbatches do.
const module_profile profiled{.of = {.name = "talk", .layers = 2, .width = 64, .heads = 4, .tokens = 32},
                              .points = {{1, 1, {}, {3e-3, 3e-3, 3e-3}, {}},
                                         {1, 8, {}, {10e-3, 10e-3, 20e-3}, {}},
                                         {2, 8, {}, {6e-3, 6e-3, 10e-3}, {}}}};
constexpr counted_seconds usual{1e-11, 2e-11, 3e-11};

}  // namespace

TEST_CASE("a module of the measured blocks takes as many of their times as it has layers") {
  const part_work block = work_of_part(profiled.of, tower_part::block);
  for (const motet::isize layers : {2, 6}) {
    const measured_pace pace{&profiled, layers};
    for (const auto& [samples, block_seconds] : {std::pair(1.0, 3e-3), std::pair(8.0, 10e-3)}) {
      const double flops = samples * static_cast<double>(layers) * block.forward_flops;
      CHECK(flops * pace.seconds(flops, 1, usual).forward ==
            doctest::Approx(static_cast<double>(layers) * block_seconds));
      CHECK(samples * block.input_flops * pace.seconds(flops, 1, usual).input ==
            doctest::Approx(block_seconds));
    }
    // Fewer samples take longer for each.
    const double one = static_cast<double>(layers) * block.forward_flops;
    CHECK(pace.seconds(one, 1, usual).forward > 2 * pace.seconds(8 * one, 1, usual).forward);
  }
}

TEST_CASE("a tensor group has its own times, and as many samples as its part of the FLOPs says") {
  const measured_pace pace{&profiled, 4};
  const part_work cut = work_of_part(profiled.of, tower_part::block, {.tensor = 2});
  const double flops = 8 * 4 * cut.forward_flops;
  CHECK(flops * pace.seconds(flops, 2, usual).forward == doctest::Approx(4 * 6e-3));
}

TEST_CASE("what was not measured takes what its FLOPs tell") {
  module_profile rested = profiled;
  for (profile_point& each : rested.points) each.block.backward_input = each.block.backward_weight = 0;
  const counted_seconds found = measured_pace{&rested, 2}.seconds(1e9, 1, usual);
  CHECK(found.input == usual.input);
  CHECK(found.weight == usual.weight);
  CHECK(found.forward != usual.forward);
  CHECK(measured_pace{&profiled, 2}.seconds(0, 1, usual).forward == usual.forward);
}
