// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/drawn_inputs.hpp>

#include <motet/nn/towers/fed_drawer.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/stage/random_input.hpp>

#include <doctest/doctest.h>

#include "staged_input.hpp"

#include <algorithm>
#include <vector>

using namespace motet;

TEST_CASE("pictures to draw keep class, place and share, whichever part they are in and in any order") {
  using net = drawer<drawer_config{
      .image = 2, .patch = 1, .channels = 1, .width = 4, .layers = 1, .heads = 1, .classes = 3}>;
  using traits = input_traits<net>;
  const random_input<net> drawn(4);
  const std::int32_t classes[] = {2, 0, -1, 1};
  drawn_pictures all = drawn.all();
  all.classes = classes;
  all.draws.first = 10;
  all.share = 0.125;
  traits::storage none;
  const drawn_pictures some = traits::slice(all, 1, 2, none);
  CHECK(some.samples == 2);
  CHECK(some.pixels == all.pixels + 4);
  CHECK(some.classes == classes + 1);
  CHECK(some.draws.place(1) == 12);
  CHECK(some.share == 0.125);
  CHECK(traits::same(all, all));
  CHECK_FALSE(traits::same(all, some));
  arranged_input<net> room;
  const drawn_pictures turned = room.of(all, {3, 0, 2, 1});
  CHECK(std::equal(turned.pixels, turned.pixels + 4, all.pixels + 12));
  CHECK(turned.classes[1] == 2);
  CHECK(turned.draws.place(0) == 13);
  const drawn_pictures rest = traits::slice(turned, 2, 2, none);
  CHECK(rest.draws.place(1) == 11);
  CHECK(rest.draws.time(1) == all.draws.time(1));
  CHECK(rest.classes[1] == 0);
  // What is staged is read where it was brought to.
  std::vector<std::byte> there(as_size(traits::staged_bytes(turned)) + 64);
  auto* const begin =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<motet::isize>(there.data()), motet::isize{64}));
  const drawn_pictures staged = traits::stage(
      turned, begin,
      [](const auto* from, auto* to, motet::isize count) { std::copy(from, from + count, to); });
  CHECK(staged.classes != turned.classes);
  CHECK(std::equal(staged.classes, staged.classes + 4, turned.classes));
  CHECK(std::equal(staged.pixels, staged.pixels + 16, turned.pixels));
  CHECK(staged.draws.place(3) == turned.draws.place(3));
  // What is drawn for them is part of what is recorded of a step, and where they lie is not.
  const auto shape = [](const drawn_pictures& of) {
    std::vector<motet::isize> found;
    traits::shape(of, found);
    return found;
  };
  CHECK(shape(staged) == shape(turned));
  drawn_pictures later = turned;
  later.draws.step = turned.draws.step + 1;
  CHECK(shape(later) != shape(turned));
  CHECK(traits::unknown(all).empty());
  const std::int32_t strange[] = {2, 0, 3, 1};
  all.classes = strange;
  CHECK(traits::unknown(all) == "picture 2 has class 3, the net knows 3, from 0 on");
}

TEST_CASE("rows that tell of a picture go where it goes") {
  using net = fed_drawer<
      drawer_config{.image = 2, .patch = 1, .channels = 1, .width = 4, .layers = 1, .heads = 1, .classes = 0},
      6, 3>;
  using traits = input_traits<net>;
  const float pixels[16] = {};
  const motet::isize offsets[] = {0, 3, 3, 5, 6};
  const fed_pictures all{{{pixels, 4}, nullptr, {.first = 10}, 0.25}, offsets};
  CHECK(all.entering_count() == 6);
  auto room = traits::room(4);
  const fed_pictures some = traits::slice(all, 2, 2, room);
  CHECK(some.samples == 2);
  CHECK(some.rows_that_enter().rows_of(0) == 2);
  CHECK(some.entering_count() == 3);
  CHECK(some.draws.place(0) == 12);
  CHECK(traits::fits(all, 4));
  CHECK(traits::largest(4).entering_count() == 12);
  const motet::isize long_ones[] = {0, 4, 4, 5, 6};
  fed_pictures other = all;
  other.row_offsets = long_ones;
  CHECK_FALSE(traits::fits(other, 4));
  CHECK(traits::same(all, all));
  CHECK_FALSE(traits::same(all, other));
  arranged_input<net> turned;
  const fed_pictures backwards = turned.of(all, {3, 2, 1, 0});
  CHECK(backwards.rows_that_enter().rows_of(1) == 2);
  CHECK(backwards.rows_that_enter().rows_of(3) == 3);
  CHECK(backwards.draws.place(0) == 13);
  other.row_offsets = nullptr;
  CHECK(other.entering_count() == 0);
  CHECK(turned.of(other, {0, 1, 2, 3}).entering_count() == 0);
  const staged_input<traits, fed_pictures> staged(all);
  CHECK(is_brought(all.pixels, staged.here.pixels, 16));
  CHECK(staged.here.row_offsets == offsets);
  const auto shape = [](const fed_pictures& of) {
    std::vector<motet::isize> found;
    traits::shape(of, found);
    return found;
  };
  CHECK(shape(staged.here) == shape(all));
  CHECK(shape(other) != shape(all));
}
