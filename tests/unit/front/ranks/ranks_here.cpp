// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/ranks/ranks_here.hpp>

#include <motet/front/trainer.hpp>
#include <motet/runtime/train/foretell.hpp>

#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {
plan cut_in_two() {
  plan made;
  made.cluster.ranks = 2;
  made.modules.push(on_ranks("picture", 0, {.tensor = 2}));
  made.modules.push(on_ranks("caption", 0, {.data = 2}));
  return made;
}
launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}
}  // namespace

TEST_CASE("time is filed under modules, loss and optimizer, for all ranks together, until it is cleared") {
  const launched_world world = alone();
  trainer<small_model> train(world, cut_in_two(), {.batch = 4});
  const small_batch data(4);
  train.step(data.get(), 1e-3);
  const auto seconds = [&](std::string_view name) {
    double sum = 0;
    const step_costs all = train.costs();
    for (const section_cost& each : all)
      if (all.path(each).starts_with(name)) sum += each.seconds;
    return sum;
  };
  for (const char* const name : {"picture / blocks", "caption", "loss", "optimizer"}) {
    CAPTURE(name);
    CHECK(seconds(name) > 0);
  }
  CHECK(seconds("other") == 0);
  train.clear_costs();
  CHECK(seconds("") == 0);
}

TEST_CASE("FLOPs are those of the batch, whatever the plan; work is that of the plan's places") {
  const launched_world world = alone();
  const trainer<small_model> one(world, {.batch = 4}), two(world, cut_in_two(), {.batch = 4});
  const small_batch data(4);
  CHECK(one.flops(data.get()) == two.flops(data.get()));
  CHECK(one.flops(data.get()) < one.foretold_costs().flops());
  CHECK(one.work().places.size() == 2);
  CHECK(two.work().places.size() == 4);
  CHECK(two.work().places[0].forward < one.work().places[0].forward);
}
