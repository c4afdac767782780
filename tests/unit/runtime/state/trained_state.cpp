// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/trained_state.hpp>

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

TEST_CASE("a state by itself shows its own") {
  motet::flat_state<float> own{{1, 2, 3}, {4, 5}, {6, 7}, 8};
  const std::vector<motet::parameter> parameters(2);
  const motet::trained_state state = own.view(parameters);
  CHECK(state.weights == own.weights.data());
  CHECK(state.second[1] == 7);
  CHECK(state.size == 3);
  CHECK(state.trainable == 2);
  CHECK(state.updates == 8);
  CHECK(state.parameters.size() == 2);
}
