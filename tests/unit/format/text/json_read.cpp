// SPDX-License-Identifier: Apache-2.0
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/meta/mixed_bits.hpp>

#include <doctest/doctest.h>

using motet::json;
using motet::read_json;

TEST_CASE("RFC 8259 values are read") {
  const json value = read_json(" {\"a\" : [1, -2.5e3, true, false, null, \"x\"], \"b\":{}, \"c\":[]}\r\n\t");
  CHECK(value.at("a").items()[0] == json(1));
  CHECK(value.at("a").items()[1] == json(-2500.0));
  CHECK(value.at("a").items()[4].is_null());
  CHECK(value.at("b").members().empty());
  CHECK(value.at("c").items().empty());
  CHECK(read_json("0") == json(0));
  CHECK(read_json("-0").number() == 0.0);
  CHECK(std::signbit(read_json("-0").number()));
  CHECK(read_json("9223372036854775807").integer() == INT64_MAX);
  CHECK(read_json("-9223372036854775808").integer() == INT64_MIN);
  CHECK(read_json("18446744073709551615").unsigned_integer() == UINT64_MAX);
  CHECK(read_json("18446744073709551616") == json(18446744073709551616.0));
  CHECK(read_json("1E+2") == json(100.0));
  CHECK(read_json("1e-400") == json(0.0));
  CHECK(read_json("5e-324").number() == 5e-324);
  CHECK(read_json("0.1").number() == 0.1);
}

TEST_CASE("escapes become UTF-8") {
  CHECK(read_json(R"("\"\\\/\b\f\n\r\t")").string() == "\"\\/\b\f\n\r\t");
  CHECK(read_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")").string() == "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(read_json(R"("a\u0000b")").string() == std::string("a\0b", 3));
  CHECK(read_json("\"\xc3\xa9\xf0\x9f\x98\x80\"").string() == "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("everything else is refused, with its place") {
  const char* bad[] = {"",
                       " ",
                       "{",
                       "}",
                       "[",
                       "]",
                       "[1",
                       "[1,",
                       "[1,]",
                       "[,1]",
                       "[1 2]",
                       "{\"a\"",
                       "{\"a\":",
                       "{\"a\":1",
                       "{\"a\":1,",
                       "{\"a\":1,}",
                       "{a:1}",
                       "{'a':1}",
                       "{1:2}",
                       "{\"a\" 1}",
                       "01",
                       "-",
                       "-a",
                       "1.",
                       ".5",
                       "1e",
                       "1e+",
                       "+1",
                       "0x10",
                       "NaN",
                       "Infinity",
                       "-Infinity",
                       "1e999",
                       "-1e999",
                       "tru",
                       "nul",
                       "True",
                       "fals",
                       "\"",
                       "\"a",
                       "\"\\\"",
                       "\"\\x\"",
                       "\"\\u12\"",
                       "\"\\u12g4\"",
                       "\"\\ud800\"",
                       "\"\\ud800x\"",
                       "\"\\ud800\\u0041\"",
                       "\"\\udc00\"",
                       "\"\n\"",
                       "\"\t\"",
                       "\"\x01\"",
                       "\"\x80\"",
                       "\"\xc3\"",
                       "\"\xc0\x80\"",
                       "\"\xed\xa0\x80\"",
                       "\"\xf5\x80\x80\x80\"",
                       "1 2",
                       "[] []",
                       "/* */ 1",
                       "1 // one",
                       ("\xef\xbb\xbf"
                        "1"),
                       "{\"a\":1,\"a\":1}",
                       "{\"\\u0061\":1,\"a\":2}"};
  for (const char* text : bad) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_json(text), motet::error);
  }
  CHECK_THROWS_AS(read_json(std::string_view("\"a\0\"", 4)), motet::error);
  CHECK_THROWS_AS(read_json(std::string_view("1\0", 2)), motet::error);
  CHECK_THROWS_WITH_AS(read_json("{\n \"a\": 1,\n \"b\" 2}", "x.json"),
                       doctest::Contains("x.json line 3 column 6: wanted :"), motet::error);
  CHECK_THROWS_WITH_AS(read_json("{\"a\":1,\n\"a\":2}", "x.json"),
                       doctest::Contains("line 2 column 1: the member \"a\" occurs twice"), motet::error);
}

TEST_CASE("nesting is bounded") {
  const std::string deep(127, '['), shut(127, ']');
  CHECK_NOTHROW(read_json(deep + shut));
  CHECK_THROWS_WITH_AS(read_json(std::string(1'000'000, '[')), doctest::Contains("nested deeper"),
                       motet::error);
  CHECK_THROWS_AS(read_json("[[[1]]]", "x", {.depth = 2}), motet::error);
  CHECK_NOTHROW(read_json("[[1]]", "x", {.depth = 2}));
}

namespace {

// Small draws from one counter-based stream.
struct draws {
  std::uint64_t seed, count = 0;
  std::uint64_t below(std::uint64_t limit) {
    return motet::mixed_bits((seed * motet::golden_step) + (++count) * 0xbf58476d1ce4e5b9u) % limit;
  }
};

std::string any_text(draws& draw) {
  std::string out;
  for (std::uint64_t i = draw.below(6); i > 0; --i) {
    constexpr std::uint32_t limits[] = {0x20, 0x80, 0x800, 0xd800, 0x110000};
    std::uint32_t point = static_cast<std::uint32_t>(draw.below(limits[draw.below(5)]));
    if (point >= 0xd800 && point < 0xe000) point = 'x';
    motet::append_utf8(out, point);
  }
  return out;
}

json any_value(draws& draw, int depth) {
  switch (draw.below(depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return json(draw.below(2) == 1);
    case 2: return json(static_cast<std::int64_t>(draw.below(UINT64_MAX)) >> draw.below(64));
    case 3: return json(draw.below(UINT64_MAX) >> draw.below(64));
    case 4: {
      const double value = std::bit_cast<double>(draw.below(UINT64_MAX));
      return json(std::isfinite(value) ? value : 0.5);
    }
    case 5: return json(any_text(draw));
    case 6: {
      json::array items;
      for (std::uint64_t i = draw.below(5); i > 0; --i) items.push_back(any_value(draw, depth - 1));
      return json(std::move(items));
    }
    default: {
      json::object members;
      for (std::uint64_t i = draw.below(13); i > 0; --i)
        members.insert(any_text(draw), any_value(draw, depth - 1));
      return json(std::move(members));
    }
  }
}

}  // namespace

TEST_CASE("what is written reads back the same, and every cut of it is refused") {
  draws draw{7};
  for (int round = 0; round < 2000; ++round) {
    const json value = any_value(draw, 4);
    const std::string line = motet::write_json(value), lines = motet::write_json(value, 2);
    CAPTURE(line);
    REQUIRE(read_json(line) == value);
    REQUIRE(read_json(lines) == value);
    if (round % 20 != 0 || (!value.is_array() && !value.is_object() && !value.is_string())) continue;
    for (std::size_t length = 0; length < line.size(); ++length)
      REQUIRE_THROWS_AS(read_json(std::string_view(line).substr(0, length)), motet::error);
  }
}

TEST_CASE("damaged text is read or refused, nothing else") {
  const std::string good =
      R"({"name":"\u00e9\ud83d\ude00","list":[1,-2.5e-3,true,null,{"x":[]}],"large":18446744073709551615})";
  draws draw{11};
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (std::uint64_t i = 1 + draw.below(3); i > 0; --i)
      text[draw.below(text.size())] = static_cast<char>(static_cast<unsigned char>(draw.below(256)));
    try {
      const json value = read_json(text);
      REQUIRE(read_json(motet::write_json(value)) == value);
    } catch (const motet::error& problem) {
      REQUIRE(std::string_view(problem.code()) == "MT-F01");
      ++refused;
    }
  }
  CHECK(refused > 10000);
}
