// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/picture_room.hpp>

using namespace motet;

TEST_CASE("places that are empty, or not filled to their end, leave no gaps") {
  const motet::isize side = 4, places = 5, floats = 3 * side * side;
  std::vector<std::byte> memory(static_cast<std::size_t>(picture_room::bytes(places, side)));
  for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
    picture_room room;
    room.prepare(memory.data(), places, side, form, {});
    for (int round = 0; round < 2; ++round) {
      room.clear();
      // In any order, as threads come.
      for (const motet::isize place : {4, 0, 2, 3}) {
        room.put(
            place, [&](float* to) { std::fill_n(to, floats, static_cast<float>(place)); },
            [&](std::uint8_t* to, packed_picture& made) {
              made = {-1, 16, 4, static_cast<std::int32_t>(1 + place), 0};
              std::fill_n(to, 16 * (1 + place), static_cast<std::uint8_t>(place));
              return 16 * (1 + place);
            });
      }
      room.leave_out(2);
      REQUIRE(room.close() == 3);
      const motet::isize left[] = {0, 3, 4};
      const matrix<float> pixels = room.pixels(3);
      const packed_pictures packed = room.packed();
      CHECK((pixels.data != nullptr) == (form == picture_form::floats));
      CHECK((packed.bytes != nullptr) == (form == picture_form::bytes));
      std::int64_t end = 0;
      for (motet::isize i = 0; i < 3; ++i) {
        if (form == picture_form::floats) {
          for (motet::isize k = 0; k < floats; ++k) CHECK(pixels.row(i)[k] == static_cast<float>(left[i]));
          continue;
        }
        CHECK(packed.each[i].at == end);
        CHECK(packed.each[i].height == 1 + left[i]);
        for (motet::isize k = 0; k < 16 * (1 + left[i]); ++k) CHECK(packed.of(i)[k] == left[i]);
        end += 16 * (1 + left[i]);
      }
    }
    room.clear();
    CHECK(room.close() == 0);
  }
}
