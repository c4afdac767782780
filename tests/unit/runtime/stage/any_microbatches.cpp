// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/any_microbatches.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 9, .context = 5, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
using eye = vit<vit_config{.image = 4, .patch = 2, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
}  // namespace

TEST_CASE("whoever does not know the net cuts, counts and tells rows as who does") {
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7, 8, 0, 1};
  const std::vector<motet::isize> offsets{0, 3, 4, 4, 9, 10};
  const tokens whole{ids.data(), {5, 0, offsets.data()}};
  replica_microbatches<ear> typed(5, 1, 2), other(5, 1, 2);
  any_microbatches& all = other;
  typed.cut(whole);
  all.cut(static_cast<const void*>(&whole));
  CHECK(all.count() == 2);
  for (motet::isize m = 0; m < 2; ++m) {
    CHECK(all.rows(m).rows() == typed.rows(m).rows());
    CHECK(all.whole_rows(m).samples == typed[m].seq.samples);
    CHECK(all.first_row(m) == typed.first_row(m));
    std::vector<motet::isize> shape, wanted;
    all.shape(m, shape);
    input_traits<ear>::shape(typed[m], wanted);
    CHECK(shape == wanted);
  }
  CHECK(all.rows(all.largest).rows() == 15);
  CHECK(all.shared(all.largest) == nullptr);
}

TEST_CASE("inputs are brought byte by byte, and read where they then lie") {
  std::vector<float> pixels(3 * 16 * 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  const pictures whole{pixels.data(), 5};
  replica_microbatches<eye> parts(5, 1, 2);
  parts.cut(whole);
  any_microbatches& all = parts;
  CHECK(all.staged_bytes() == input_traits<eye>::staged_bytes(parts[parts.largest]));
  std::vector<float> room(static_cast<std::size_t>(all.staged_bytes()));
  motet::isize moved = 0;
  const byte_mover by{&moved, [](void* self, const std::byte* from, std::byte* to, motet::isize bytes) {
                        std::memcpy(to, from, static_cast<std::size_t>(bytes));
                        *static_cast<motet::isize*>(self) += bytes;
                      }};
  all.stage(1, reinterpret_cast<std::byte*>(room.data()), by);
  CHECK(moved == 2 * 3 * 16 * 4);
  CHECK(parts[1].pixels == room.data());
  CHECK(parts[1].pixels[0] == 3 * 3 * 16);  // the first number of the fourth picture
  CHECK(parts[0].pixels == pixels.data());
}

TEST_CASE("members of tensor and context groups embed each sample of a microbatch once") {
  for (std::int32_t tensor = 1; tensor <= 3; ++tensor)
    for (std::int32_t context = 1; context <= 3; ++context) {
      std::vector<int> covered(10, 0);
      for (std::int32_t t = 0; t < tensor; ++t)
        for (std::int32_t c = 0; c < context; ++c) {
          const interval own = mine_of({4, 14}, {tensor, t, context, c});
          for (motet::isize s = own.begin; s < own.end; ++s) ++covered[static_cast<std::size_t>(s - 4)];
        }
      CHECK(covered == std::vector<int>(10, 1));
    }
}
