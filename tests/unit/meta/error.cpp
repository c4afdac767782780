// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include <string>

namespace {

constexpr motet::message row{"MT-Z99", "the kettle is empty", "nobody filled it", "fill the kettle"};

}  // namespace

TEST_CASE("an error says the rule, the detail, the remedy and the code, in this order") {
  CHECK_THROWS_WITH_AS(motet::fail(row, "kettle 3: got 0 l, wanted 1 l"),
                       "motet: the kettle is empty: kettle 3: got 0 l, wanted 1 l. fill the kettle [MT-Z99]",
                       motet::error);
}

TEST_CASE("without a detail there is no empty one") {
  CHECK_THROWS_WITH_AS(motet::fail(row), "motet: the kettle is empty. fill the kettle [MT-Z99]",
                       motet::error);
}

TEST_CASE("a program can tell errors apart by their code") {
  try {
    motet::fail(row);
  } catch (const motet::error& found) {
    CHECK(std::string(found.code()) == "MT-Z99");
  }
}

TEST_CASE("a place can be added to an error, which stays what it was") {
  try {
    try {
      motet::fail(row, "kettle 3");
    } catch (const motet::error& found) {
      throw motet::error(found, "table 7");
    }
  } catch (const motet::error& found) {
    CHECK(std::string(found.what()) ==
          "motet: the kettle is empty: kettle 3. fill the kettle [MT-Z99] at table 7");
    CHECK(std::string(found.code()) == "MT-Z99");
  }
}

TEST_CASE("words and numbers of any type follow each other") {
  const std::string name = "picture";
  const std::string_view part = "stage";
  CHECK(motet::sentence({name, ", ", part, ' ', -3, " of ", std::size_t{4}}) == "picture, stage -3 of 4");
  CHECK(motet::sentence({UINT64_MAX, "/", INT64_MIN, " ", std::uint8_t{65}}) ==
        "18446744073709551615/-9223372036854775808 65");
  CHECK(motet::sentence({"after ", 0.5, " s"}) == "after 0.500000 s");
  CHECK(motet::sentence({}).empty());
}
