// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/unicode/compose.hpp>

using namespace motet;

namespace {
std::string composed(std::string_view text) {
  std::string out;
  append_composed(out, text);
  return out;
}
}  // namespace

TEST_CASE("letters and their marks become one character where there is one") {
  CHECK(composed("plain text, 12") == "plain text, 12");
  CHECK(composed("Cafe\u0301 \u00e9") == "Caf\u00e9 \u00e9");
  CHECK(composed("A\u030a \u212b \u00c5") == "\u00c5 \u00c5 \u00c5");
  // Marks above and below come in either order.
  CHECK(composed("s\u0323\u0307") == "\u1e69");
  CHECK(composed("s\u0307\u0323") == "\u1e69");
  CHECK(composed("\u1e0b\u0323") == "\u1e0d\u0307");
  CHECK(composed("q\u0307\u0323") == "q\u0323\u0307");
  CHECK(composed("\u1100\u1161\u11a8") == "\uac01");
  CHECK(composed("\uac00\u11a8") == "\uac01");
  // These never stand in composed text, and are not made again.
  CHECK(composed("\u0958 \u2126 \uf900") == "\u0915\u093c \u03a9 \u8c48");
  // A mark of the same order hides what follows.
  CHECK(composed("a\u0302\u0301") == "\u1ea5");
  CHECK(composed("a\u0315\u0300\u0301") == "\u00e0\u0301\u0315");
  CHECK(composed("\u0301a") == "\u0301a");
}

TEST_CASE("what is composed stays, and bytes that are not UTF-8 pass") {
  CHECK(composed("") == "");
  CHECK(composed("e\xff\xcc") == "e\xff\xcc");
  for (const char* text : {"Ångström naïve ΐ йё", "한국어 が ｶﾞ", "👩‍👩‍👧‍👦 क़"})
    CHECK(composed(composed(text)) == composed(text));
}
