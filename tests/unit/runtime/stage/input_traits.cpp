// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/input_traits.hpp>

#include <motet/nn/towers/sound_tower.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/stage/random_input.hpp>

#include <unit/runtime/small_model.hpp>
#include <unit/runtime/small_sight.hpp>
#include <unit/runtime/small_talk.hpp>

#include <doctest/doctest.h>

#include "staged_input.hpp"

#include <algorithm>
#include <limits>
#include <vector>

using namespace motet;

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
    std::vector<motet::isize> found;
    traits::shape(of, found);
    return found;
  };
  const std::vector<motet::isize> before = shape(all);
  all.packed.each += 1;
  CHECK(shape(all) == before);
  all.packed.shift[2] = 7;
  CHECK(shape(all) != before);
  CHECK(shape(pictures{nullptr, 3}) != before);
}

TEST_CASE("sounds are cut where they end, and the first with a number that is none is named") {
  using net =
      sound_tower<sound_config{.bins = 2, .frames = 3, .width = 8, .layers = 1, .heads = 2, .embedding = 4}>;
  using traits = input_traits<net>;
  random_input<net> drawn(4);
  const sounds all = drawn.all();
  traits::storage none;
  const sounds some = traits::slice(all, 1, 2, none);
  CHECK(some.features == all.features + 6);
  CHECK(some.samples == 2);
  CHECK(traits::fits(all, 4));
  CHECK_FALSE(traits::fits(all, 3));
  CHECK(traits::same(all, drawn.all()));
  CHECK_FALSE(traits::same(all, some));
  CHECK(traits::staged_bytes(all) == 4 * 6 * 4);
  CHECK(first_bad_sample<net>(all) == -1);
  std::vector<float> spoilt(all.features, all.features + 24);
  spoilt[13] = std::numeric_limits<float>::infinity();
  CHECK(first_bad_sample<net>({spoilt.data(), 4}) == 2);
  arranged_input<net> room;
  const sounds turned = room.of(all, {3, 0, 2, 1});
  CHECK(std::equal(turned.features, turned.features + 6, all.features + 18));
  CHECK(std::equal(turned.features + 18, turned.features + 24, all.features + 6));
}

TEST_CASE("words, their labels and the pictures among them are read where they were brought to") {
  const small_text text(5);
  using said = input_traits<small_talk, tokens>;
  using asked = input_traits<small_talk>;
  const labelled_tokens all = text.get();
  const motet::isize rows = all.seq.rows();
  const staged_input<said, tokens> words(all);
  CHECK(is_brought(all.ids, words.here.ids, rows));
  CHECK(words.here.seq.offsets == all.seq.offsets);
  const staged_input<asked, labelled_tokens> labels(all);
  CHECK(is_brought(all.ids, labels.here.ids, rows));
  CHECK(is_brought(all.targets, labels.here.targets, rows));
  CHECK(labels.here.share == all.share);

  using seen = input_traits<small_sight>;
  const small_seen_text shown(6, 3);
  const pictured_tokens pictured = shown.get();
  REQUIRE(pictured.seen.samples > 0);
  const staged_input<seen, pictured_tokens> staged(pictured);
  CHECK(is_brought(pictured.ids, staged.here.ids, pictured.seq.rows()));
  CHECK(is_brought(pictured.places, staged.here.places, static_cast<motet::isize>(shown.places.size())));
  CHECK(is_brought(pictured.seen.pixels, staged.here.seen.pixels,
                   static_cast<motet::isize>(shown.pixels.size())));
  CHECK(seen::unknown(staged.here).empty());
  // They are other words at another place, of the same shape.
  CHECK(seen::same(pictured, pictured));
  CHECK_FALSE(seen::same(pictured, staged.here));
  const auto shape = [](const pictured_tokens& of) {
    std::vector<motet::isize> found;
    seen::shape(of, found);
    return found;
  };
  CHECK(shape(staged.here) == shape(pictured));
  CHECK(shape(small_seen_text(5, 3).get()) != shape(pictured));
}
