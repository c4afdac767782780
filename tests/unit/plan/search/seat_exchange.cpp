// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/seat_exchange.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

cluster_facts two_nodes() {
  cluster_facts out;
  out.nodes = 2;
  out.devices_per_node = 4;
  out.between = {0, 1e9};
  return out;
}
double bettered(const list<seating>& towers, seat_layout& of) {
  const cluster_facts on = two_nodes();
  of.node_bytes = detail::busiest_node(towers, of.ranks, on);
  const double before = of.node_bytes;
  detail::seat_exchange(towers, on, of).run();
  CHECK(of.node_bytes == detail::busiest_node(towers, of.ranks, on));
  CHECK(of.node_bytes <= before);
  return of.node_bytes;
}

}  // namespace

TEST_CASE("groups of two towers exchange their seats") {
  const list<seating> towers{{{.data = 2, .tensor = 2}, 0, 8}, {{.data = 2, .tensor = 2}, 0, 8}};
  seat_layout of{{{0, 1, 4, 5}, {2, 3, 6, 7}}, 0};
  CHECK(bettered(towers, of) == 0);
  for (const list<std::int32_t>& own : of.ranks)
    for (const std::int32_t rank : own) CHECK(rank / 4 == own[0] / 4);
}

TEST_CASE("a group moves to ranks that are left over") {
  const list<seating> towers{{{.stages = 2}, 8, 0}};
  seat_layout of{{{3, 4}}, 0};
  CHECK(bettered(towers, of) == 0);
  CHECK(of.ranks[0][0] / 4 == of.ranks[0][1] / 4);
  CHECK(of.ranks[0][0] != of.ranks[0][1]);
}

TEST_CASE("who shares ranks stays") {
  list<seating> towers{{{.data = 2}, 0, 8}, {{.data = 2}, 0, 8}};
  towers[1].with = 0;
  seat_layout of{{{0, 4}, {0, 4}}, 0};
  CHECK(bettered(towers, of) > 0);
  CHECK(of.ranks[0] == list<std::int32_t>{0, 4});
}
