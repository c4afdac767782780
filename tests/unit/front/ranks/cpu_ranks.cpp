// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/ranks/cpu_ranks.hpp>

#include <motet/front/trainer.hpp>

#include "unit/runtime/small_model.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {
launched_world with(std::initializer_list<const char*> words) {
  std::vector<const char*> all{"program"};
  all.insert(all.end(), words);
  return launch(static_cast<int>(all.size()), all.data());
}
}  // namespace

TEST_CASE("ranks that are threads share the processors, unless told how many each has") {
  plan two;
  two.cluster.ranks = 2;
  two.modules.push(on_ranks("picture", 0, {}));
  two.modules.push(on_ranks("caption", 1, {}));
  const launched_world any = with({}), three = with({"--threads", "3"});
  const int here = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  CHECK(trainer<small_model>(any, {.batch = 4}).threads() == here);
  CHECK(trainer<small_model>(any, two, {.batch = 4}).threads() == std::max(1, here / 2));
  const trainer<small_model> train(three, two, {.batch = 4});
  CHECK(train.threads() == 3);
  CHECK(train.memory().size() == 2);
  CHECK(train.memory()[1].threads == 3);
}

TEST_CASE("processors multiply no fp8") {
  const launched_world world = with({});
  CHECK_THROWS_WITH_AS(trainer<small_model>(world, {.batch = 4, .fp8 = true}),
                       doctest::Contains("fp8 on processors: GPUs from sm_89 on multiply it"), error);
}
