// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/runtime/staged_inputs.hpp>

#include <unit/runtime/small_model.hpp>

#include "laws/packed_shots.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a batch comes to the GPU, its offsets stay") {
  motet::cuda::device device;
  staged_inputs<small_model, motet::cuda::device> inputs;
  // Pictures packed or not.
  CHECK(inputs.bytes(5) == round_up(5 * 24, 64) + 5 * (3 * 8 * 8 + 6) * 4);
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

TEST_CASE("packed pictures come with the list of them, whole or from the middle of a batch, and no more than there is room for") {
  motet::cuda::device device;
  staged_inputs<small_model, motet::cuda::device> inputs;
  inputs.prepare(device, 10);
  const laws::packed_shots shots(8, laws::packed_shots::boxes(8), 1);
  for (const motet::index skipped : {0, 2}) {
    pictures from{nullptr, 10 - skipped, shots.here()};
    from.packed.each += skipped;
    std::vector<packed_picture> each(static_cast<std::size_t>(from.samples));
    std::vector<std::uint8_t> bytes(shots.bytes.size() - static_cast<std::size_t>(shots.each[static_cast<std::size_t>(skipped)].at));
    device.run([&](motet::cuda::context& ctx) {
      const pictures there = inputs.bring_one<0>(ctx, from);
      CHECK(there.samples == from.samples);
      CHECK(there.are_packed());
      CHECK(there.packed.each == there.packed.origin);
      CHECK(there.packed.factor[1] == from.packed.factor[1]);
      download(ctx, there.packed.each, each.data(), there.samples);
      download(ctx, there.packed.bytes, bytes.data(), static_cast<motet::index>(bytes.size()));
    });
    CHECK(std::equal(bytes.rbegin(), bytes.rend(), shots.bytes.rbegin()));
    CHECK(each.back().at == shots.each.back().at);
    CHECK(each.front().width == from.packed.each[0].width);
  }
  std::vector<packed_picture> apart = shots.each;
  apart.back().at += 4000;
  pictures too_much{nullptr, 10, shots.at(shots.bytes.data(), apart.data())};
  CHECK_THROWS_AS(device.run([&](motet::cuda::context& ctx) { inputs.bring_one<0>(ctx, too_much); }), motet::error);
}

TEST_CASE("where the device reads the host's memory, nothing is taken") {
  cpu::device device(1);
  staged_inputs<small_model, cpu::device> inputs;
  inputs.prepare(device, 5);
  CHECK(inputs.bytes(5) == 0);
}
