// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/arranged_input.hpp>

#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include "unit/runtime/small_sight.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr motet::isize samples = 7;
const sample_order order{4, 0, 6, 2, 5, 1, 3};
sample_order inverse() {
  sample_order out(samples, 0);
  for (motet::isize k = 0; k < samples; ++k) out[order[k]] = static_cast<std::int32_t>(k);
  return out;
}
template <class T>
std::vector<T> copy(const T* from, motet::isize count) {
  return {from, from + count};
}

using words = text_tower<text_config{.vocabulary = 23, .context = 8, .width = 8, .layers = 1, .heads = 2}>;
using eye = vit_rows<small_sight_eye, true, 2>;
using fed = fed_decoder<small_sight_words, 10>;

}  // namespace

TEST_CASE("tokens move whole, by offsets and without") {
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  arranged_input<words> room;
  const tokens& even = room.of({ids.data(), {samples, 2, nullptr}}, order);
  CHECK_EQ(copy(even.ids, 4), std::vector<std::int32_t>{9, 10, 1, 2});
  const motet::isize offsets[] = {0, 0, 3, 4, 9, 10, 12, 14};
  const tokens& uneven = room.of({ids.data(), {samples, 0, offsets}}, order);
  CHECK_EQ(copy(uneven.seq.offsets, 8), std::vector<motet::isize>{0, 1, 1, 3, 4, 6, 9, 14});
  CHECK_EQ(copy(uneven.ids, 6), std::vector<std::int32_t>{10, 13, 14, 4, 11, 12});
}

TEST_CASE("labels, pictures and places move with their samples, and back") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const small_seen_text data(samples, seed);
    const pictured_tokens all = data.get();
    arranged_input<small_sight> there, back;
    const pictured_tokens& moved = there.of(all, order);
    CHECK_EQ(input_traits<small_sight>::unknown(moved), "");
    CHECK_EQ(moved.share, all.share);
    for (motet::isize k = 0; k < samples; ++k) {
      const motet::isize s = order[k], rows = all.seq.rows_of(s);
      REQUIRE_EQ(moved.seq.rows_of(k), rows);
      CHECK_EQ(copy(moved.ids + moved.seq.begin(k), rows), copy(all.ids + all.seq.begin(s), rows));
      CHECK_EQ(copy(moved.targets + moved.seq.begin(k), rows), copy(all.targets + all.seq.begin(s), rows));
    }
    const pictured_tokens& again = back.of(moved, inverse());
    CHECK_EQ(copy(again.ids, again.seq.rows()), data.ids);
    CHECK_EQ(copy(again.picture_offsets, samples + 1), data.picture_offsets);
    CHECK_EQ(copy(again.places, static_cast<motet::isize>(data.places.size())), data.places);
    CHECK_EQ(copy(again.seen.pixels, static_cast<motet::isize>(data.pixels.size())), data.pixels);
  }
}

TEST_CASE("what modules apart see, and where its rows go, moves alike") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const small_seen_text data(samples, seed);
    const pictured_tokens all = data.get();
    std::vector<motet::isize> rows;
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
    arranged_input<eye> seen, seen_back;
    arranged_input<fed> said, said_back;
    const seen_pictures& shown = seen.of({all.seen, samples, all.picture_offsets}, order);
    const placed_tokens& placed = said.of({all, rows.data(), all.places}, order);
    CHECK_EQ(input_traits<eye>::unknown(shown), "");
    CHECK_EQ(input_traits<fed>::unknown(placed), "");
    for (motet::isize k = 0; k < samples; ++k)
      CHECK_EQ(5 * (shown.before(k + 1) - shown.before(k)), placed.rows_that_enter().rows_of(k));
    const seen_pictures& shown_again = seen_back.of(shown, inverse());
    const placed_tokens& placed_again = said_back.of(placed, inverse());
    CHECK_EQ(copy(shown_again.pixels, static_cast<motet::isize>(data.pixels.size())), data.pixels);
    CHECK_EQ(copy(placed_again.places, static_cast<motet::isize>(data.places.size())), data.places);
    CHECK_EQ(copy(placed_again.row_offsets, samples + 1), rows);
  }
}

TEST_CASE("packed pictures lie one behind the other again") {
  std::vector<std::uint8_t> bytes(3 * 64);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::uint8_t>(k);
  const packed_picture each[] = {{0, 16, 4, 4, 0}, {64, 16, 4, 2, 1}, {128, 0, 0, 0, 0}};
  pictures all{nullptr, 3, {}};
  all.packed = {bytes.data(), each, each, {0.5f}, {1}};
  using net = vit<small_sight_eye>;
  arranged_input<net> room;
  const pictures& moved = room.of(all, {2, 0, 1});
  for (motet::isize k = 0; k < 3; ++k) {
    const motet::isize s = std::array{2, 0, 1}[static_cast<std::size_t>(k)];
    CHECK_EQ(moved.packed.each[k].height, each[s].height);
    CHECK_EQ(moved.packed.each[k].flip, each[s].flip);
    CHECK_EQ(moved.packed.each[k].at % 16, 0);
    CHECK_EQ(copy(moved.packed.of(k), 32), copy(all.packed.of(s), 32));
  }
  CHECK_EQ(moved.packed.factor[0], 0.5f);
}
