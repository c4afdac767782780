// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/runtime/stage/staged_inputs.hpp>

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

TEST_CASE(
    "packed pictures come with the list of them, whole or from the middle of a batch, and no more than there "
    "is room for") {
  motet::cuda::device device;
  staged_inputs<small_model, motet::cuda::device> inputs;
  inputs.prepare(device, 10);
  const laws::packed_shots shots(8, laws::packed_shots::boxes(8), 1);
  for (const motet::index skipped : {0, 2}) {
    pictures from{nullptr, 10 - skipped, shots.here()};
    from.packed.each += skipped;
    std::vector<packed_picture> each(static_cast<std::size_t>(from.samples));
    std::vector<std::uint8_t> bytes(
        shots.bytes.size() - static_cast<std::size_t>(shots.each[static_cast<std::size_t>(skipped)].at));
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
  CHECK_THROWS_AS(device.run([&](motet::cuda::context& ctx) { inputs.bring_one<0>(ctx, too_much); }),
                  motet::error);
}

TEST_CASE("the next batch comes while the device works, and only what was told is taken from there") {
  constexpr motet::index samples = 15000;  // of pictures that come in three pieces
  motet::cuda::device device;
  staged_inputs<small_model, motet::cuda::device> inputs;
  CHECK(inputs.bytes(samples, true) == 2 * inputs.bytes(samples));
  inputs.prepare(device, samples, true);
  const small_batch first(4), second(samples, 2), third(samples, 3);
  const auto pixels_of = [&](motet::cuda::context& ctx, const small_model::batch& there) {
    std::vector<float> found(static_cast<std::size_t>(std::get<0>(there).samples) * 192);
    download(ctx, std::get<0>(there).pixels, found.data(), static_cast<motet::index>(found.size()));
    return found;
  };
  const auto same = [](const std::vector<float>& found, const small_batch& want) {
    return std::equal(found.begin(), found.end(), want.pixels.data());
  };
  const cuda::buffer<float> numbers(1000);
  [[maybe_unused]] double waited[2] = {};
  for (const bool ahead : {false, true})
    device.run([&](motet::cuda::context& ctx) {
      cudaEvent_t from = nullptr, to = nullptr;
      cuda::check(cudaEventCreate(&from), "create");
      cuda::check(cudaEventCreate(&to), "create");
#if !defined(__CUDACC__)
      emulation::pace(0, 1);
#endif
      inputs.bring(ctx, first.get());
      for (int k = 0; k < 10; ++k) zero(ctx, numbers.data(), numbers.size());  // a step
      if (ahead) inputs.bring_ahead(ctx, second.get());
      used(ctx);
      cuda::check(cudaEventRecord(from, ctx.stream()), "record");
      const small_model::batch there = inputs.bring(ctx, second.get());
      cuda::check(cudaEventRecord(to, ctx.stream()), "record");
      CHECK(same(pixels_of(ctx, there), second));
      float milliseconds = 0;
      cuda::check(cudaEventElapsedTime(&milliseconds, from, to), "elapsed");
      waited[ahead] = 1e-3 * static_cast<double>(milliseconds);
      // Another one than was told, and the one that was told too early.
      inputs.bring_ahead(ctx, third.get());
      CHECK(same(pixels_of(ctx, inputs.bring(ctx, first.get())), first));
      CHECK(same(pixels_of(ctx, inputs.bring(ctx, third.get())), third));
#if !defined(__CUDACC__)
      emulation::pace(0, 0);
#endif
      cudaEventDestroy(from);
      cudaEventDestroy(to);
    });
#if !defined(__CUDACC__)
  // three pieces of pictures and one of captions come when the step is over
  CHECK(waited[0] == doctest::Approx(4));
  CHECK(waited[1] == doctest::Approx(2));  // pictures and captions, moved over
#endif
}

TEST_CASE("where the device reads the host's memory, nothing is taken") {
  cpu::device device(1);
  staged_inputs<small_model, cpu::device> inputs;
  inputs.prepare(device, 5);
  CHECK(inputs.bytes(5, true) == 0);
}
