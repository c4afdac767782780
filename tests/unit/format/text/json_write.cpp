// SPDX-License-Identifier: Apache-2.0
#include <motet/format/text/json_write.hpp>

#include <doctest/doctest.h>

#include <limits>

using motet::json;
using motet::write_json;

TEST_CASE("numbers take the fewest digits that read back") {
  CHECK(write_json(0.1) == "0.1");
  CHECK(write_json(1.0) == "1.0");
  CHECK(write_json(-0.0) == "-0.0");
  CHECK(write_json(1e300) == "1e+300");
  CHECK(write_json(5e-324) == "5e-324");
  CHECK(write_json(7) == "7");
  CHECK(write_json(INT64_MIN) == "-9223372036854775808");
  CHECK(write_json(UINT64_MAX) == "18446744073709551615");
  CHECK(write_json(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(write_json(-std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("strings are escaped where they must be") {
  CHECK(write_json("a\"b\\c\n\r\t\x01\x1f\x7f/\xc3\xa9") ==
        "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\x7f/\xc3\xa9\"");
  CHECK_THROWS_WITH_AS(write_json("ab\xff"), doctest::Contains("byte 2 of \"ab\""), motet::error);
  CHECK_THROWS_AS(write_json(json{{"\xc3", 1}}), motet::error);
}

TEST_CASE("one line or indented") {
  const json value{
      {"a", json::array{1, json{{"b", true}}}}, {"c", json::array{}}, {"d", json(json::object{})}};
  CHECK(write_json(value) == R"({"a": [1, {"b": true}], "c": [], "d": {}})");
  CHECK(write_json(value, 2) ==
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": true\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}");
}
