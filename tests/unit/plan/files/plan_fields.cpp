// SPDX-License-Identifier: Apache-2.0
#include <motet/format/text/json_read.hpp>
#include <motet/plan/files/plan_fields.hpp>

#include <doctest/doctest.h>

using namespace motet;
using detail::plan_fields;

TEST_CASE("fields are read if they are there, and checked for kind and range") {
  const json from = read_json(R"({"stages": 3, "balanced": false, "ranks": [1, 2]})");
  const plan_fields fields(from, "modules.picture", {"stages", "balanced", "ranks", "zero"});
  int stages = 1, zero = 7;
  bool balanced = true;
  fields.read("stages", stages, 1, 8);
  fields.read("zero", zero, 0, 9);
  fields.read("balanced", balanced);
  CHECK((stages == 3 && zero == 7 && !balanced));
  std::string paths;
  fields.each("ranks", [&](const json& item, const std::string& path) {
    paths += path + "=" + write_json(item) + " ";
  });
  CHECK(paths == "modules.picture.ranks[0]=1 modules.picture.ranks[1]=2 ");
  fields.each("zero", [&](const json&, const std::string&) { FAIL("it is not there"); });
  CHECK_THROWS_WITH_AS(fields.read("stages", stages, 4, 8),
                       doctest::Contains("modules.picture.stages is 3, wanted 4 to 8"), error);
  CHECK_THROWS_WITH_AS(fields.read("balanced", stages, 4, 8),
                       doctest::Contains("modules.picture.balanced is a boolean, wanted an integer"), error);
  CHECK_THROWS_WITH_AS(fields.read("stages", balanced),
                       doctest::Contains("modules.picture.stages is an integer, wanted true or false"),
                       error);
  CHECK_THROWS_WITH_AS(fields.at("zero"), doctest::Contains("modules.picture.zero is missing"), error);
}

TEST_CASE("fields that nobody knows are refused at once") {
  CHECK_THROWS_WITH_AS(plan_fields(read_json(R"({"stage": 3})"), "", {"stages", "zero"}),
                       doctest::Contains("stage; wanted one of stages, zero"), error);
  CHECK_THROWS_WITH_AS(plan_fields(read_json("3"), "", {}),
                       doctest::Contains("the plan is an integer, wanted an object"), error);
  CHECK_THROWS_WITH_AS(plan_fields(read_json("3"), "cluster", {}),
                       doctest::Contains("cluster is an integer, wanted an object"), error);
}

TEST_CASE("names are short") {
  CHECK(plan_fields::name("fifteen letters", "x") == label("fifteen letters"));
  CHECK_THROWS_AS(plan_fields::name("sixteen letters.", "x"), error);
  CHECK_THROWS_AS(plan_fields::name("", "x"), error);
  CHECK_THROWS_AS(plan_fields::name(std::string("a\0b", 3), "x"), error);
}
