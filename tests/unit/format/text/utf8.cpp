// SPDX-License-Identifier: Apache-2.0
#include <motet/format/text/utf8.hpp>

#include <doctest/doctest.h>

TEST_CASE("every code point is encoded, measured and decoded back") {
  for (std::uint32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    std::string text;
    motet::append_utf8(text, point);
    if (motet::utf8_length(text, 0) != text.size() || motet::utf8_decode(text, 0, text.size()) != point)
      FAIL("code point " << point);
  }
}

TEST_CASE("no other sequence is a character") {
  // All of one and two bytes, and the edges of longer ones.
  for (unsigned a = 0x80; a < 0x100; ++a) {
    const char one[] = {static_cast<char>(a)};
    CHECK(motet::utf8_length({one, 1}, 0) == 0);
    for (unsigned b = 0; b < 0x100; ++b) {
      const char two[] = {static_cast<char>(a), static_cast<char>(b)};
      const bool good = a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf;
      if ((motet::utf8_length({two, 2}, 0) == 2) != good) FAIL("bytes " << a << " " << b);
    }
  }
  for (const char* bad :
       {"\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x28\xa1"}) {
    CHECK(motet::utf8_length(bad, 0) == 0);
  }
  CHECK(motet::utf8_first_bad("ab\xc3\xa9") == std::string_view::npos);
  CHECK(motet::utf8_first_bad("ab\xc3\xa9\xff") == 4);
}
