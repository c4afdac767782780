// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/parameter_piece.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
struct net {
  static void parameters(parameter_list& list) {
    list.matrix("a", 3, 10, {}, shard::whole);
    list.vector("b", 4, {});
    list.matrix("c", 2, 8, {}, shard::whole);
    list.vector("d", 16, {});
  }
};
}  // namespace

TEST_CASE("the parameters of a piece are counted from its begin") {
  parameter_list list;
  net::parameters(list);
  const std::vector<parameter>& all = list.items();
  const auto own = parameters_within(all, all[1].offset, all[3].offset - all[1].offset);
  REQUIRE(own.size() == 2);
  CHECK(own[0].name == "b");
  CHECK(own[0].offset == 0);
  CHECK(own[1].name == "c");
  CHECK(own[1].offset == 16);
  CHECK(parameters_within(all, 0, list.used()).size() == 4);
  CHECK(parameters_within(all, list.used(), 100).empty());
  // Pieces treat their elements as the whole does.
  const auto runs = decay_runs(own, all[3].offset - all[1].offset);
  REQUIRE(runs.size() == 2);
  CHECK(!runs[0].decay);
  CHECK(runs[1].decay);
  CHECK(runs[1].offset == 16);
}
