// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/layer_split.hpp>

#include <doctest/doctest.h>

using namespace motet;
using counts = std::vector<motet::isize>;

TEST_CASE("layers are split as evenly as they can be") {
  CHECK(split_layers("eye", 12, 4) == counts{3, 3, 3, 3});
  CHECK(split_layers("eye", 5, 1) == counts{5});
  for (motet::isize layers = 1; layers < 40; ++layers)
    for (motet::isize stages = 1; stages <= layers; ++stages) {
      motet::isize sum = 0;
      const counts own = split_layers("eye", layers, stages);
      REQUIRE(static_cast<motet::isize>(own.size()) == stages);
      for (const motet::isize each : own) {
        CHECK(each >= layers / stages);
        CHECK(each <= (layers + stages - 1) / stages);
        sum += each;
      }
      CHECK(sum == layers);
    }
}

TEST_CASE("or as one says") { CHECK(split_layers("eye", 6, 3, {1, 4, 1}) == counts{1, 4, 1}); }

TEST_CASE("what does not add up is refused, with the module and the numbers") {
  CHECK_THROWS_WITH_AS(split_layers("eye", 3, 4), doctest::Contains("eye has 3 layers, the program 4 stages"),
                       error);
  CHECK_THROWS_WITH_AS(split_layers("eye", 3, 4), doctest::Contains("MT-P09"), error);
  CHECK_THROWS_WITH_AS(split_layers("ear", 6, 3, {3, 3}),
                       doctest::Contains("ear has 3 stages in the program, and layers for 2"), error);
  CHECK_THROWS_WITH_AS(split_layers("ear", 6, 3, {3, 3, 0}), doctest::Contains("a stage of 0 layers"), error);
  CHECK_THROWS_WITH_AS(split_layers("ear", 6, 3, {7, -2, 1}), doctest::Contains("a stage of -2 layers"),
                       error);
  CHECK_THROWS_WITH_AS(split_layers("ear", 6, 2, {3, 4}),
                       doctest::Contains("6 layers, and its stages hold 7"), error);
  CHECK_THROWS_WITH_AS(split_layers("ear", 6, 2, {3, 4}), doctest::Contains("MT-R09"), error);
}
