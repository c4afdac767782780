// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/join_shares.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace motet;

namespace {

// Module 0 on members 0 and 1, module 1 on member 1, module 2 on members 2 and, without samples, 3.
join_layout layout() {
  return {{{0, 0, 0, {{0, 3}}},
           {1, 0, 1, {{3, 8}}},
           {1, 1, 2, {{0, 8}}},
           {2, 2, 3, {{0, 8}}},
           {3, 2, 4, {{8, 8}}}},
          8};
}
constexpr join_shares::sizes telling{64, 128, 8}, silent{64, 128, 0};
std::vector<motet::isize> bytes_of(std::span<const byte_range> ranges) {
  std::vector<motet::isize> all;
  for (const byte_range& each : ranges) all.push_back(each.bytes);
  return all;
}
using numbers = std::vector<motet::isize>;

}  // namespace

TEST_CASE("where all learn, each row is compared and a second exchange follows only where rows tell") {
  const join_layout all = layout();
  constexpr std::array<bool, 3> frozen{false, false, false};
  const join_shares shares(all, frozen, telling), without(all, frozen, silent);
  CHECK(shares.owner() == 0);
  CHECK(shares.exchanges_again());
  CHECK(!without.exchanges_again());
  for (motet::isize m = 0; m < 4; ++m) {
    CHECK(shares.compares_any(m) == (m < 3));
    CHECK(!shares.hands_over(m));
  }
  CHECK(shares.compares(1, 1, 0));
  CHECK(!shares.compares(1, 2, 0));  // no rows of it
  CHECK(!shares.compares(1, 1, 1));
  CHECK(shares.compares_with(1, 2));
  CHECK(shares.compares_with(1, 1));
  CHECK(!shares.compares_with(0, 0));
  // Member 1 gets the three rows of member 0, the numbers, and all of module 2; member 0 of member 1 module 1
  // alone; member 2 all of both.
  CHECK(bytes_of(shares.features(1).in()) == numbers{3 * 64 + 128, 0, 8 * 64, 0});
  CHECK(bytes_of(shares.features(0).in()) == numbers{0, 8 * 64, 8 * 64, 0});
  CHECK(bytes_of(shares.features(2).in()) == numbers{3 * 64 + 128, 5 * 64 + 8 * 64, 0, 0});
  CHECK(bytes_of(shares.features(3).in()) == numbers{0, 0, 0, 0});
  // Of member 1's rows member 2 hears what those of modules 0 and 1 tell module 2.
  CHECK(shares.told(2).in()[1].bytes == 64 + 8 * 8);
  CHECK(shares.told(0).in()[2].bytes == 8 * 8);
  CHECK(bytes_of(shares.told(3).in()) == numbers{0, 0, 0, 0});
}

TEST_CASE("a member where nothing learns hands over what it finds") {
  const join_layout all = layout();
  constexpr std::array<bool, 3> frozen{true, false, true};
  const join_shares shares(all, frozen, telling), without(all, frozen, silent);
  CHECK(shares.owner() == 1);
  CHECK(shares.hands_over(0));
  CHECK(!shares.hands_over(1));
  CHECK(shares.hands_over(2));
  CHECK(!shares.hands_over(3));  // it has found nothing
  // Rows that tell nothing: frozen ones are compared with frozen ones alone, and by the first module of both.
  CHECK(!without.compares(0, 0, 1));
  CHECK(without.compares(0, 0, 2));
  CHECK(!without.compares(2, 2, 0));
  CHECK(without.compares(1, 1, 0));
  CHECK(without.hands_over(0));
  CHECK(!without.hands_over(2));
  CHECK(without.exchanges_again());
  CHECK(bytes_of(without.told(1).in()) == numbers{join_shares::handed_numbers + 128, 0, 0, 0});
  CHECK(bytes_of(without.told(2).in()) == numbers{0, 0, 0, 0});
}

TEST_CASE("sections are neighbours where they are needed together") {
  const join_layout all = layout();
  constexpr std::array<bool, 3> frozen{true, false, false};
  const join_shares shares(all, frozen, telling);
  CHECK(shares.section(1) == 0);
  CHECK(shares.section(0) == 2);
  CHECK(shares.section(2) == 3);
  // Sections are for module 1, for module 2, and last for the frozen one.
  CHECK(shares.told_section(0, 1) == 1);
  CHECK(shares.told_section(2, 1) == 3);
  CHECK(shares.told_section(1, 2) == 5);
  CHECK(shares.told_section(1, 0) == 8);
  constexpr std::array<bool, 2> two{false, false};
  CHECK_THROWS_WITH_AS(join_shares(all, two, telling),
                       doctest::Contains("seats of 3 modules, the model has 2"), error);
}
