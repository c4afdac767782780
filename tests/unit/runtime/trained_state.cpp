// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/trained_state.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

TEST_CASE("a trainer's state shows its buffers") {
  motet::cpu::device device(1);
  small_trainer train(device, {.batch = 2});
  train.prepare();
  const motet::trained_state state = train.state();
  CHECK(state.weights == train.weights());
  CHECK(state.first == train.first());
  CHECK(state.second == train.second());
  CHECK(state.size == small_model::parameter_size);
  CHECK(state.trainable == small_model::trainable_size);
  CHECK(state.parameters.size() == small_model::parameters().size());
}
