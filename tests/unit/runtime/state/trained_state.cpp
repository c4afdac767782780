// SPDX-License-Identifier: Apache-2.0
// races: front/ranks/hosted_ranks
#include <motet/runtime/state/trained_state.hpp>

#include <motet/front/trainer.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a state has all weights, and moments of what learns") {
  using still = model<join<info_nce, motet::module<"picture", frozen<small_picture::net>>, small_caption>>;
  const char* const words[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, words);
  trainer<still> train(world, {.batch = 4});
  train.step(small_batch(4).get(), 1e-3);
  const flat_state<float> found = train.state();
  CHECK(found.weights.size() == static_cast<std::size_t>(still::parameter_size));
  CHECK(found.first.size() == static_cast<std::size_t>(still::trainable_size));
  CHECK(found.second.size() == found.first.size());
  CHECK(found.first.size() < found.weights.size());
  CHECK(found.updates == 1);
}
