// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/ranks/hosted_ranks.hpp>

#include <motet/front/ranks/cpu_ranks.hpp>
#include <motet/front/trainer.hpp>

#include "deviation.hpp"
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

TEST_CASE("features are those of the weights of now, gathered or whole") {
  const launched_world world = alone();
  trainer<small_model> one(world, {.batch = 4}), two(world, cut_in_two(), {.batch = 4});
  const small_batch data(4), few(3, 5);
  std::vector<float> a(3 * 8), b(a), before;
  for (int k = 0; k < 3; ++k) {
    two.gather();
    one.embed<"picture">(std::get<0>(few.get()), a.data());
    two.embed<"picture">(std::get<0>(few.get()), b.data());
    CHECK(laws::off_by(b, a) <= 1e-4);
    CHECK(a != before);
    before = a;
    one.step(data.get(), 1e-2);
    two.step(data.get(), 1e-2);
  }
  two.set_state(one.state());
  one.embed<"caption">(std::get<1>(few.get()), a.data());
  two.embed<"caption">(std::get<1>(few.get()), b.data());
  CHECK(laws::off_by(b, a) <= 1e-6);
}

TEST_CASE("a plan that leaves the number of pieces open gets one, and learns the same to the bit") {
  const launched_world world = alone();
  plan open = cut_in_two();
  for (module_plan& each : open.modules) each.pieces = 0;
  trainer<small_model> said(world, cut_in_two(), {.batch = 4}), chosen(world, open, {.batch = 4});
  for (const module_plan& each : chosen.of().modules) CHECK(each.pieces >= 1);
  CHECK(chosen.of().modules[1].pieces == 1);  // captions have no tensor group
  const small_batch data(4);
  for (int k = 0; k < 2; ++k) CHECK(said.step(data.get(), 1e-2).loss == chosen.step(data.get(), 1e-2).loss);
  CHECK(said.weights() == chosen.weights());
}
