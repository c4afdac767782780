// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_fields.hpp>

#include <doctest/doctest.h>

TEST_CASE("fields are read by kind, and messages name them") {
  const motet::json from =
      motet::read_json(R"({"a": 3, "b": 0.5, "c": "x", "d": true, "e": null, "f": [1]})", "c");
  const motet::hf_fields fields(&from, "c");
  CHECK(fields.size("a", 1) == 3);
  CHECK(fields.real("b", 1) == 0.5);
  CHECK(fields.text("c", "y") == "x");
  CHECK(fields.flag("d", false));
  CHECK(fields.find("e") != nullptr);
  CHECK(fields.find_any("e") == nullptr);
  CHECK(fields.find_any("a") == fields.find("a"));
  CHECK(fields.text("g", "y") == "y");
  CHECK_THROWS_WITH_AS(fields.size("b", 1), doctest::Contains("c.b is not a positive count: 0.5"),
                       motet::error);
  CHECK_THROWS_WITH_AS(fields.real("c", 1), doctest::Contains("c.c is not a number: \"x\""), motet::error);
  CHECK_THROWS_WITH_AS(fields.text("a", ""), doctest::Contains("c.a is not a string: 3"), motet::error);
  CHECK_THROWS_WITH_AS(fields.flag("a", true), doctest::Contains("c.a is not true or false: 3"),
                       motet::error);
  CHECK_THROWS_WITH_AS(motet::hf_fields(from.find("f"), "c: f"), doctest::Contains("c: f is not an object"),
                       motet::error);
  CHECK(motet::hf_fields(nullptr, "c").size("a", 2) == 2);
}
