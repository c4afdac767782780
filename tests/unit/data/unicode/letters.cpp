// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/unicode/letters.hpp>

using namespace motet;

TEST_CASE("letters, digits, white space and marks of all scripts") {
  for (const char32_t c : U"azAZµÀÿŁΩЖѫאعहไ中ーガ한\U0001d400") {
    if (c != 0) CHECK(kind_of_letter(c) == letter_kind::letter);
  }
  for (const char32_t c : U"09²½٣१๑Ⅷ①\U0001d7ce") {
    if (c != 0) CHECK(kind_of_letter(c) == letter_kind::digit);
  }
  for (const char32_t c : U" \t\n\r\x85\xa0\u1680\u2003\u2028\u202f\u3000") {
    if (c != 0) CHECK(kind_of_letter(c) == letter_kind::space);
  }
  for (const char32_t c : U"!_~\x01\x7f«×÷\u0301\u200b\u200d€→👍\ufeff") {
    if (c != 0) CHECK(kind_of_letter(c) == letter_kind::mark);
  }
  CHECK(kind_of_letter(0x10ffff) == letter_kind::mark);
}
