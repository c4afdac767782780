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
  CHECK(of.counted(0, 2).flops() < of.counted(0, 1).flops());
  CHECK(of.counted(0, 4).flops() == of.counted(0, 1).flops());
  CHECK(of.shape().ranks_per_node == 0);
  of.on.devices_per_node = 8;
  CHECK(of.shape().ranks_per_node == 8);
  CHECK(of.shape().ranks == 12);
}
