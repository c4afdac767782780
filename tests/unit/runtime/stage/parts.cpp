// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/parts.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("parts are consecutive samples with offsets of their own") {
  const small_batch data(7);
  const auto whole = data.get();
  batch_parts<small_model> cutter(7, 3);
  const auto parts = cutter.cut(whole);
  REQUIRE(parts.size() == 3);
  motet::index sample = 0;
  for (const auto& part : parts) {
    const auto& [shots, words] = part;
    CHECK(shots.samples == words.seq.samples);
    CHECK(shots.pixels == data.pixels.data() + sample * 3 * 64);
    CHECK(words.seq.begin(0) == 0);
    for (motet::index s = 0; s < words.seq.samples; ++s, ++sample) {
      const auto at = static_cast<std::size_t>(sample);
      CHECK(words.ids + words.seq.begin(s) == data.ids.data() + data.offsets[at]);
      CHECK(words.seq.rows_of(s) == data.offsets[at + 1] - data.offsets[at]);
    }
  }
  CHECK(sample == 7);
}

TEST_CASE("a batch with captions of one length keeps that") {
  std::vector<std::int32_t> ids(12);
  std::vector<float> pixels(4 * 192);
  batch_parts<small_model> cutter(4, 2);
  const auto parts = cutter.cut({pictures{pixels.data(), 4}, tokens{ids.data(), {4, 3, nullptr}}});
  CHECK(std::get<1>(parts[1]).ids == ids.data() + 6);
  CHECK(std::get<1>(parts[1]).seq.rows() == 6);
}

TEST_CASE(
    "a part of packed pictures has the origin of the whole, and only its form and scale make another shape") {
  using traits = input_traits<small_picture::net>;
  const std::uint8_t bytes[96] = {};
  const packed_picture each[3] = {{0, 16, 4, 1, 0}, {16, 16, 5, 2, 1}, {48, 16, 2, 1, 0}};
  pictures all{nullptr, 3, {bytes, each, each, {1, 2, 3}, {4, 5, 6}}};
  traits::storage none;
  const pictures some = traits::slice(all, 1, 2, none);
  CHECK(some.samples == 2);
  CHECK(some.packed.origin == each);
  CHECK(some.packed.of(1) == bytes + 48);
  const auto shape = [](const pictures& of) {
    std::vector<motet::index> found;
    traits::shape(of, found);
    return found;
  };
  const std::vector<motet::index> before = shape(all);
  all.packed.each += 1;
  CHECK(shape(all) == before);
  all.packed.shift[2] = 7;
  CHECK(shape(all) != before);
  CHECK(shape(pictures{nullptr, 3}) != before);
}

TEST_CASE("what does not fit the plan is refused") {
  batch_parts<small_model> cutter(4, 2);
  std::vector<std::int32_t> ids(40);
  std::vector<float> pixels(5 * 192);
  const auto batch = [&](motet::index shots, motet::index captions, motet::index length) {
    return small_model::batch{pictures{pixels.data(), shots},
                              tokens{ids.data(), {captions, length, nullptr}}};
  };
  CHECK_THROWS_AS(cutter.cut(batch(5, 5, 2)), error);
  CHECK_THROWS_AS(cutter.cut(batch(4, 3, 2)), error);
  CHECK_THROWS_AS(cutter.cut(batch(4, 4, 7)), error);
  CHECK_THROWS_AS(cutter.cut(batch(1, 1, 2)), error);
  CHECK(cutter.cut(batch(3, 3, 6)).size() == 2);
}
