// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/rank_memory.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("stages are added field by field, and scratch counts for each thread") {
  stage_memory sum{.weights = 1, .gradients = 2, .optimizer = 3, .slots = 4, .boundaries = 5};
  sum.add({.weights = 10, .gradients = 20, .optimizer = 30, .slots = 40, .boundaries = 50});
  CHECK(sum.weights == 11);
  CHECK(sum.boundaries == 55);
  CHECK(sum.total() == 165);
  rank_memory rank;
  rank.stages = sum;
  rank.features = 1000;
  rank.packing = 2000;
  rank.inputs = 4000;
  rank.work = 8000;
  rank.scratch = 100;
  rank.threads = 3;
  rank.beside = 16000;
  CHECK(rank.total() == 31465);
}
