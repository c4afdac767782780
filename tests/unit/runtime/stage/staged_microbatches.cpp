// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/staging.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>
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
  staged_microbatches<cuda::context> staged;
  // Of three samples at most, of five ids each, in steps of the alignment.
  CHECK(staged.bytes(parts) == 2 * round_up(15 * 4, arena::alignment));
  staged.prepare(parts);
  const laws::gpu_room room(64, 64);
  cuda::context ctx = room.context();
  const std::vector<motet::index> offsets[2] = {{0, 3, 4, 4, 9, 10}, {0, 5, 10, 15, 15, 16}};
  for (const auto& at : offsets) {
    std::vector<std::int32_t> ids;
    for (motet::index i = 0; i < at.back(); ++i) ids.push_back(static_cast<std::int32_t>(at[1] + i));
    parts.cut(tokens{ids.data(), {5, 0, at.data()}});
    const std::int32_t* const host[2] = {parts[0].ids, parts[1].ids};
    const motet::index* const lengths[2] = {parts[0].seq.offsets, parts[1].seq.offsets};
    staged.stage(ctx, parts);
    for (motet::index m = 0; m < 2; ++m) {
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
  staged_microbatches<cuda::context> staged;
  CHECK(staged.bytes(parts) == 3 * round_up(128 + 4 * 3 * 64 * 4, arena::alignment));
  staged.prepare(parts);
  const laws::gpu_room room(64, 64);
  cuda::context ctx = room.context();
  const packed_picture* places[2][3];
  for (int step = 0; step < 2; ++step) {
    const laws::packed_shots shots(8, laws::packed_shots::boxes(8), static_cast<std::uint64_t>(step));
    parts.cut(pictures{nullptr, 10, shots.here()});
    staged.stage(ctx, parts);
    motet::index first = 0;
    for (motet::index m = 0; m < 3; ++m) {
      const pictures& there = parts[m];
      places[step][m] = there.packed.each;
      CHECK(there.packed.each == there.packed.origin);
      std::vector<packed_picture> each(static_cast<std::size_t>(there.samples));
      download(ctx, there.packed.each, each.data(), there.samples);
      for (motet::index s = 0; s < there.samples; ++s) {
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
