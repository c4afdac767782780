// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/runtime/staged_inputs.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a batch comes to the GPU, its offsets stay") {
  motet::cuda::device device;
  staged_inputs<small_model, motet::cuda::device> inputs;
  CHECK(inputs.bytes(5) == 5 * (3 * 8 * 8 + 6) * 4);
  inputs.prepare(device, 5);
  const small_batch data(4);
  const small_model::batch whole = data.get();
  std::vector<float> pixels(4 * 192);
  std::vector<std::int32_t> ids(data.ids.size());
  device.run([&](motet::cuda::context& ctx) {
    const small_model::batch there = inputs.bring(ctx, whole);
    CHECK(std::get<0>(there).samples == 4);
    CHECK(std::get<0>(there).pixels != std::get<0>(whole).pixels);
    CHECK(std::get<1>(there).seq.offsets == std::get<1>(whole).seq.offsets);
    download(ctx, std::get<0>(there).pixels, pixels.data(), 4 * 192);
    download(ctx, std::get<1>(there).ids, ids.data(), static_cast<motet::index>(ids.size()));
  });
  CHECK(std::equal(pixels.begin(), pixels.end(), data.pixels.data()));
  CHECK(ids == data.ids);
}

TEST_CASE("where the device reads the host's memory, nothing is taken") {
  cpu::device device(1);
  staged_inputs<small_model, cpu::device> inputs;
  inputs.prepare(device, 5);
  CHECK(inputs.bytes(5) == 0);
}
