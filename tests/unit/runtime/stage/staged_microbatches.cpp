// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/operations.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>
#include <motet/runtime/stage/staged_microbatches.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"
#include "packed_shots.hpp"

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 50, .context = 5, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
}  // namespace

TEST_CASE(
    "each microbatch finds its own samples on the GPU, in every step, and its offsets stay with the host") {
  replica_microbatches<ear> parts(5, 1, 2);
  staged_microbatches<motet::cuda::context> staged;
  // There are three samples at most, of five ids each, in steps of the alignment.
  CHECK(staged.bytes(parts) == 2 * round_up(15 * 4, arena::alignment));
  staged.prepare(parts);
  const laws::gpu_room room(64, 64);
  motet::cuda::context ctx = room.context();
  const std::vector<motet::isize> offsets[2] = {{0, 3, 4, 4, 9, 10}, {0, 5, 10, 15, 15, 16}};
  for (const auto& at : offsets) {
    std::vector<std::int32_t> ids;
    for (motet::isize i = 0; i < at.back(); ++i) ids.push_back(static_cast<std::int32_t>(at[1] + i));
    parts.cut(tokens{ids.data(), {5, 0, at.data()}});
    const std::int32_t* const host[2] = {parts[0].ids, parts[1].ids};
    const motet::isize* const lengths[2] = {parts[0].seq.offsets, parts[1].seq.offsets};
    staged.stage(ctx, parts);
    for (motet::isize m = 0; m < 2; ++m) {
      const tokens& there = parts[m];
      CHECK(there.ids != host[m]);
      CHECK(there.seq.offsets == lengths[m]);
      std::vector<std::int32_t> found(static_cast<std::size_t>(there.seq.rows()));
      download(ctx, there.ids, found.data(), there.seq.rows());
      CHECK(laws::off_by(found, std::vector<std::int32_t>(host[m], host[m] + there.seq.rows())) == 0);
    }
  }
  laws::gpu().finish();
}

TEST_CASE("of packed pictures each microbatch finds its own, with bytes that begin at its first") {
  using eye = vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
  replica_microbatches<eye> parts(10, 1, 3);
  staged_microbatches<motet::cuda::context> staged;
  CHECK(staged.bytes(parts) == 3 * round_up(128 + 4 * 3 * 64 * 4, arena::alignment));
  staged.prepare(parts);
  const laws::gpu_room room(64, 64);
  motet::cuda::context ctx = room.context();
  const packed_picture* places[2][3];
  for (int step = 0; step < 2; ++step) {
    const laws::packed_shots shots(8, laws::packed_shots::boxes(8), static_cast<std::uint64_t>(step));
    parts.cut(pictures{nullptr, 10, shots.here()});
    staged.stage(ctx, parts);
    motet::isize first = 0;
    for (motet::isize m = 0; m < 3; ++m) {
      const pictures& there = parts[m];
      places[step][m] = there.packed.each;
      CHECK(there.packed.each == there.packed.origin);
      std::vector<packed_picture> each(static_cast<std::size_t>(there.samples));
      download(ctx, there.packed.each, each.data(), there.samples);
      for (motet::isize s = 0; s < there.samples; ++s) {
        const packed_picture& want = shots.each[static_cast<std::size_t>(first + s)];
        CHECK(each[static_cast<std::size_t>(s)].at == want.at);
        std::uint8_t byte = 0;
        download(ctx, there.packed.bytes + (want.at - each[0].at), &byte, 1);
        CHECK(byte == shots.bytes[static_cast<std::size_t>(want.at)]);
      }
      first += there.samples;
    }
    CHECK(first == 10);
  }
  // Recorded steps find them where they were.
  for (int m = 0; m < 3; ++m) CHECK(places[0][m] == places[1][m]);
  laws::gpu().finish();
}

TEST_CASE("packed pictures from the middle of a list come, and no more than there is room for") {
  using eye = vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
  const laws::gpu_room room(64, 64);
  motet::cuda::context ctx = room.context();
  const laws::packed_shots shots(8, laws::packed_shots::boxes(8), 1);
  {
    pictures from{nullptr, 8, shots.here()};
    from.packed.each += 2;
    replica_microbatches<eye> parts(8, 1, 1);
    staged_microbatches<motet::cuda::context> staged;
    staged.prepare(parts);
    parts.cut(from);
    staged.stage(ctx, parts);
    const pictures& there = parts[0];
    CHECK(there.packed.factor[1] == from.packed.factor[1]);
    std::vector<packed_picture> each(8);
    std::vector<std::uint8_t> bytes(shots.bytes.size() - static_cast<std::size_t>(shots.each[2].at));
    download(ctx, there.packed.each, each.data(), 8);
    download(ctx, there.packed.bytes, bytes.data(), static_cast<motet::isize>(bytes.size()));
    CHECK(std::equal(bytes.rbegin(), bytes.rend(), shots.bytes.rbegin()));
    CHECK(each.back().at == shots.each.back().at);
    CHECK(each.front().width == from.packed.each[0].width);
  }
  std::vector<packed_picture> apart = shots.each;
  apart.back().at += 4000;
  replica_microbatches<eye> parts(10, 1, 1);
  staged_microbatches<motet::cuda::context> staged;
  staged.prepare(parts);
  parts.cut(pictures{nullptr, 10, shots.at(shots.bytes.data(), apart.data())});
  CHECK_THROWS_AS(staged.stage(ctx, parts), motet::error);
  laws::gpu().finish();
}

TEST_CASE("the next batch comes while the device works, and only what was told is taken from there") {
  using eye = vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
  constexpr motet::isize samples = 15000;  // of pictures that come in three pieces
  const laws::gpu_room room(64, 64);
  motet::cuda::context ctx = room.context();
  std::vector<float> first(samples * 192), second(first.size()), third(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<float>(i % 97);
    second[i] = static_cast<float>(i % 89);
    third[i] = static_cast<float>(i % 83);
  }
  const auto batch = [&](const std::vector<float>& from) { return pictures{from.data(), samples}; };
  replica_microbatches<eye> parts(samples, 1, 1);
  staged_microbatches<motet::cuda::context> staged(
      std::make_unique<replica_microbatches<eye>>(samples, 1, 1)),
      alone;
  CHECK(staged.bytes(parts) == 2 * alone.bytes(parts));
  staged.prepare(parts);
  const auto bring = [&](const std::vector<float>& from) {
    parts.cut(batch(from));
    staged.stage(ctx, parts);
  };
  const auto holds = [&](const std::vector<float>& want) {
    std::vector<float> found(want.size());
    download(ctx, parts[0].pixels, found.data(), static_cast<motet::isize>(found.size()));
    return found == want;
  };
  const motet::cuda::buffer<float> numbers(1000);
  [[maybe_unused]] double waited[2] = {};
  for (const bool ahead : {false, true}) {
    cudaEvent_t from = nullptr, to = nullptr;
    motet::cuda::check(cudaEventCreate(&from), "create");
    motet::cuda::check(cudaEventCreate(&to), "create");
#if !defined(__CUDACC__)
    emulation::pace(0, 1);
#endif
    bring(first);
    for (int k = 0; k < 10; ++k) zero(ctx, numbers.data(), numbers.size());  // a step
    const pictures next = batch(second);
    if (ahead) staged.expect(&next);
    staged.bring_ahead(ctx);
    used(ctx);
    motet::cuda::check(cudaEventRecord(from, ctx.stream()), "record");
    bring(second);
    motet::cuda::check(cudaEventRecord(to, ctx.stream()), "record");
    CHECK(holds(second));
    float milliseconds = 0;
    motet::cuda::check(cudaEventElapsedTime(&milliseconds, from, to), "elapsed");
    waited[ahead] = 1e-3 * static_cast<double>(milliseconds);
    // Another one than was told, and the one that was told too early.
    const pictures later = batch(third);
    staged.expect(&later);
    staged.bring_ahead(ctx);
    bring(first);
    CHECK(holds(first));
    bring(third);
    CHECK(holds(third));
    // The batch was told, brought, and shared out anew since.
    staged.expect(&next);
    staged.bring_ahead(ctx);
    staged.split(sample_split{samples, 1, 1, 1});
    bring(second);
    CHECK(holds(second));
#if !defined(__CUDACC__)
    emulation::pace(0, 0);
#endif
    cudaEventDestroy(from);
    cudaEventDestroy(to);
  }
#if !defined(__CUDACC__)
  CHECK(waited[0] == doctest::Approx(3));  // three pieces come when the step is over
  CHECK(waited[1] == doctest::Approx(1));  // moved over
#endif
  laws::gpu().finish();
}
