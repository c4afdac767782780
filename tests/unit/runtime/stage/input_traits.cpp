// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/input_traits.hpp>

#include <motet/nn/towers/sound_tower.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/stage/random_input.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

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
