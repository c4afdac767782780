// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/verdict.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>

// The table of a floor, as a test has one.
#define MOTET_TEST_RULES(X)                                                                                  \
  X(test_sizes_differ, "MT-Z01", "two sizes must be equal", "somebody changed one",                          \
    "give both the same size")                                                                               \
  X(test_too_few, "MT-Z02", "there must be two", "one was left out", "name the second")                      \
  X(test_seats, "MT-Z03", "a seat is for one", "guests came late", "add seats",                              \
    "{where}: {got} guest{s} for {wanted} seat{s}, no class{es}")                                            \
  X(test_place, "MT-Z05", "a place is named", "its number was told", "name it", "{where/first/last}: {got}") \
  X(test_plain, "MT-Z04", "this is not done", "somebody did it", "leave it out", "")
MOTET_RULES_OF(MOTET_TEST_RULES, test_rules)

namespace {

using motet::reason::test_sizes_differ;
using motet::reason::test_too_few;

static_assert(motet::verdict{}.ok() && motet::verdict{}.why == motet::reason::none);
static_assert(!motet::verdict{test_too_few, 0, 1, 2}.ok());
static_assert(motet::require<motet::verdict{}>);

// A computed static_assert says the same words as an error.
static_assert(motet::message_of(test_too_few, "at picture: got 1, wanted 2").view() ==
              "motet: there must be two: at picture: got 1, wanted 2. name the second [MT-Z02]");

// A rule says what its numbers count, and nothing where they are none.
using motet::reason::test_place;
using motet::reason::test_plain;
using motet::reason::test_seats;
struct told {
  motet::verdict found;
  std::string_view name, words;
  constexpr bool holds() const { return numbers_of(found, name).view() == words; }
};
constexpr told all_told[] = {
    {{test_too_few, 3, 1, 2}, {}, "at 3: got 1, wanted 2"},
    {{test_too_few, 0, 1, 2}, "picture", "picture: got 1, wanted 2"},
    {{test_place, 0, 7}, {}, "first: 7"},
    {{test_place, 1, 7}, {}, "last: 7"},
    {{test_place, 2, 7}, {}, ": 7"},
    {{test_seats, 0, 2, 1}, "row", "row: 2 guests for 1 seat, no class"},
    {{test_seats, 4, 1, 0}, {}, "at 4: 1 guest for 0 seats, no classes"},
    {{test_plain, 4, 1, 0}, "row", ""},
};
static_assert(std::ranges::all_of(all_told, &told::holds));
TEST_CASE("the numbers of a broken rule, in its own words") {
  for (const told& each : all_told)
    CHECK(std::string(numbers_of(each.found, each.name).view()) == each.words);
}

static_assert(motet::message_of(test_plain, motet::numbers_of({test_plain}).view()).view() ==
              "motet: this is not done. leave it out [MT-Z04]");

TEST_CASE("a floor's table has the rows that its rules point to, in their order") {
  REQUIRE(std::size(motet::test_rules) == 5);
  CHECK(std::string(motet::test_rules[0].code) == test_sizes_differ->code);
  CHECK(std::string(motet::test_rules[1].sentence) == test_too_few->sentence);
  CHECK(std::string(motet::test_rules[1].remedy) == "name the second");
  CHECK(test_sizes_differ != test_too_few);
}

TEST_CASE("the same rule at run time throws with the same code and names the numbers") {
  CHECK_NOTHROW(motet::enforce(motet::verdict{}, "model"));
  try {
    motet::enforce({test_sizes_differ, 1, 768, 512}, "the join of picture and caption");
    FAIL("nothing was thrown");
  } catch (const motet::error& found) {
    const std::string text = found.what();
    CHECK(text ==
          motet::message_of(test_sizes_differ, "the join of picture and caption (at 1: got 768, wanted 512)")
              .view());
    CHECK(std::string(found.code()) == "MT-Z01");
    CHECK(text.find("the join of picture and caption (at 1: got 768, wanted 512)") != std::string::npos);
    CHECK(text.find("two sizes must be equal") != std::string::npos);
  }
  try {
    motet::enforce({test_plain}, "the choir");
    FAIL("nothing was thrown");
  } catch (const motet::error& found) {
    CHECK(std::string(found.what()) == motet::message_of(test_plain, "the choir").view());
  }
}

}  // namespace
