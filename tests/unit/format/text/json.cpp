// SPDX-License-Identifier: Apache-2.0
#include <motet/format/text/json.hpp>

#include <doctest/doctest.h>

#include <limits>

using motet::json;

TEST_CASE("each kind of value is told apart") {
  CHECK(json().is_null());
  CHECK(json(nullptr).is_null());
  CHECK(json(true).is_boolean());
  CHECK(json("text").is_string());
  CHECK(json(1).is_integer());
  CHECK(json(1u).is_integer());
  CHECK_FALSE(json(1.0).is_integer());
  CHECK(json(1.0).is_number());
  CHECK(json(1).is_number());
  CHECK(json(json::array{1, 2}).items().size() == 2);
  CHECK(json(json::object{}).members().empty());
}

TEST_CASE("integers keep all their bits and reals stay apart") {
  CHECK(json(INT64_MIN).integer() == INT64_MIN);
  CHECK(json(UINT64_MAX).unsigned_integer() == UINT64_MAX);
  CHECK(json(std::uint64_t{5}) == json(5));
  CHECK_FALSE(json(1) == json(1.0));
  CHECK(json(9007199254740993).number() == 9007199254740992.0);
  CHECK_THROWS_WITH_AS(json(UINT64_MAX).integer(), doctest::Contains("18446744073709551615 does not fit"),
                       motet::error);
  CHECK_THROWS_WITH_AS(json(-1).unsigned_integer(), doctest::Contains("got -1"), motet::error);
}

TEST_CASE("another kind than wanted is refused by name") {
  CHECK_THROWS_WITH_AS(json(1.5).integer(), doctest::Contains("wanted an integer, got a number"),
                       motet::error);
  CHECK_THROWS_WITH_AS(json("1").number(), doctest::Contains("wanted a number, got a string"), motet::error);
  CHECK_THROWS_WITH_AS(json().members(), doctest::Contains("wanted an object, got null"), motet::error);
  const json object{{"present", 1}};
  CHECK(object.at("present").integer() == 1);
  CHECK(object.find("absent") == nullptr);
  CHECK_THROWS_WITH_AS(object.at("absent"), doctest::Contains("\"absent\""), motet::error);
}

TEST_CASE("objects keep their order and hold a name once") {
  json object;
  object.set("z", 1).set("a", 2).set("z", 3);
  std::string order;
  for (const auto& [name, value] : object.members()) order += name + std::to_string(value.integer());
  CHECK(order == "z3a2");
  json::object members;
  CHECK(members.insert("once", 1));
  CHECK_FALSE(members.insert("once", 2));
  CHECK(members.find("once")->integer() == 1);
}

TEST_CASE("many members are found as few are") {
  json::object members;
  for (int i = 0; i < 5000; ++i) REQUIRE(members.insert("name " + std::to_string(i), i));
  for (int i = 0; i < 5000; ++i) {
    const json* found = members.find("name " + std::to_string(i));
    REQUIRE(found != nullptr);
    REQUIRE(found->integer() == i);
    REQUIRE_FALSE(members.insert("name " + std::to_string(i), -1));
  }
  CHECK(members.find("name 5000") == nullptr);
  CHECK(members.size() == 5000);
}

TEST_CASE("arrays grow from null") {
  json list;
  list.push_back(1).push_back("two");
  CHECK(list == json(json::array{1, "two"}));
  CHECK_THROWS_AS(json(1).push_back(2), motet::error);
}
