// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/counted_graph.hpp>

#include "unit/plan/disttrain/counted_speech.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("shares of the work add up, and follow from what samples bring") {
  const counted_graph even = counted_speech({.eye = 1e9, .talk = 3e9});
  CHECK(even.share(0) + even.share(1) + even.share(2) == doctest::Approx(1));
  CHECK(even.share(2) / even.share(0) == doctest::Approx(3));
  const counted_graph skewed = counted_speech({.eye = 1e9, .talk = 3e9, .sigma = 1});
  CHECK(skewed.mean_load(0) < 0.6);
  CHECK(skewed.mean_load(2) == 1);
  CHECK(skewed.share(0) < even.share(0));
}

TEST_CASE("a module that nobody cut so is as it is whole; ranks fill nodes") {
  counted_graph of = counted_speech({.ranks = 12});
  const double whole = of.counted(2, {}).flops();
  CHECK(of.counted(2, {.tensor = 2}).flops() < whole);
  CHECK(of.counted(2, {.context = 2}).flops() < whole);
  CHECK(of.counted(2, {.context = 2, .tensor = 2}).flops() < of.counted(2, {.tensor = 2}).flops());
  CHECK(of.counted(2, {.tensor = 4}).flops() == whole);
  CHECK(of.shape().ranks_per_node == 0);
  of.on.devices_per_node = 8;
  CHECK(of.shape().ranks_per_node == 8);
  CHECK(of.shape().ranks == 12);
}

TEST_CASE("FLOPs take what the device does in a second, or what a block was measured to take") {
  counted_graph of = counted_speech({.talk = 4e9});
  CHECK(of.seconds(2, {}, 1).forward == 1 / of.device_flops);
  const module_profile measured{.of = {.name = "talk", .layers = 2, .width = 64, .heads = 4, .tokens = 32},
                                .points = {{1, 8, {}, {1e-3, 1e-3, 2e-3}, {}}}};
  of.paces = {{}, {}, {&measured, of.facts[2].layers}};
  CHECK(of.seconds(1, {}, 1).forward == 1 / of.device_flops);
  const part_work block = work_of_part(measured.of, tower_part::block);
  CHECK(of.seconds(2, {}, 1).forward == doctest::Approx(1e-3 / 8 / block.forward_flops));
  CHECK(of.seconds(2, {}, 1).weight == doctest::Approx(2e-3 / 8 / block.weight_flops));
}
