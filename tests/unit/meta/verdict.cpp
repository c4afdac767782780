// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/verdict.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

static_assert(motet::verdict{}.ok());
static_assert(!motet::verdict{motet::reason::join_too_small, 0, 1, 2}.ok());
static_assert(motet::require<motet::verdict{}>);

// A computed static_assert says the same words as an error.
static_assert(motet::message_of(motet::reason::join_too_small, "at picture: got 1, wanted 2").view() ==
              "motet: a join needs at least two modules: at picture: got 1, wanted 2. "
              "name two or more modules in the join [MT-M02]");
static_assert(motet::numbers_of({motet::reason::join_too_small, 0, 1, 2}, "picture").view() ==
              "at picture: got 1, wanted 2");

TEST_CASE("every reason has its own row, in the order of the enumeration") {
#define MOTET_TEST_REASON(name, its_code, its_sentence, its_cause, its_remedy)                        \
  CHECK(std::string(motet::reason_messages[static_cast<int>(motet::reason::name)].code) == its_code); \
  CHECK(std::string(motet::reason_messages[static_cast<int>(motet::reason::name)].sentence) == its_sentence);
  MOTET_REASONS(MOTET_TEST_REASON)
#undef MOTET_TEST_REASON
  std::set<std::string> codes;
  for (const motet::message& row : motet::reason_messages) {
    CHECK(codes.insert(row.code).second);
    // The compiler prints the sentence on one line with numbers around it.
    CHECK(std::strlen(row.sentence) <= 140);
    // What is said beside the sentence has room in the compiler's text.
    CHECK(std::strlen(row.sentence) + std::strlen(row.remedy) <= 300);
  }
}

TEST_CASE("the same rule at run time throws with the same code and names the numbers") {
  CHECK_NOTHROW(motet::enforce(motet::verdict{}, "model"));
  try {
    motet::enforce({motet::reason::join_widths_differ, 1, 768, 512}, "the join of picture and caption");
    FAIL("nothing was thrown");
  } catch (const motet::error& found) {
    const std::string text = found.what();
    CHECK(text == motet::message_of(motet::reason::join_widths_differ,
                                    "the join of picture and caption (at 1: got 768, wanted 512)")
                      .view());
    CHECK(std::string(found.code()) == "MT-M01");
    CHECK(text.find("the join of picture and caption (at 1: got 768, wanted 512)") != std::string::npos);
    CHECK(text.find("modules that meet in a join must have equal embedding widths") != std::string::npos);
  }
}
