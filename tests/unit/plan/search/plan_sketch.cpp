// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/check_plan.hpp>
#include <motet/plan/search/plan_sketch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

tower_point working(double forward, double backward, double fill = 0) {
  tower_point out;
  out.forward = out.least_forward = forward;
  out.backward = out.least_backward = backward;
  out.seconds = {forward + fill, forward + backward, backward + fill};
  out.last_steady = forward + backward;
  return out;
}

}  // namespace

TEST_CASE("who can share ranks with whom") {
  CHECK(groupings(1, true, true) == list<list<isize>>{{0}});
  CHECK(groupings(2, true, true) == list<list<isize>>{{0, 1}, {0, 0}});
  CHECK(groupings(2, true, false) == list<list<isize>>{{0, 1}});
  CHECK(groupings(2, false, true) == list<list<isize>>{{0, 0}});
  CHECK(groupings(3, true, true).size() == 5);
  CHECK(groupings(4, true, true).size() == 1 + 6 + 1);
}

TEST_CASE("work on the same ranks adds up, and a tower's own way through its stages stays") {
  const tower_point one = working(3, 6), other = working(1, 2, 5);
  const tower_point* both[] = {&one, &other};
  CHECK(together(both) == phase_seconds{3 + 1 + 5, 12, 6 + 2 + 5});
  CHECK(least_together(both) == phase_seconds{6, 9, 8});
  CHECK(together(std::span(both, 1)) == one.seconds);
}

TEST_CASE("a sketch becomes a plan") {
  cluster_facts on;
  on.nodes = 2;
  on.devices_per_node = 4;
  const model_shape model{"two", {{.name = "one", .layers = 4, .heads = 4}, {.name = "other", .layers = 2}}};
  plan_sketch sketch{{{}, {}}, {-1, 0}, {}};
  sketch.points[0].split = {2, 2, 1, 2};
  sketch.points[0].microbatches = 4;
  sketch.points[0].stash = 1;
  sketch.points[1].split = {1, 2, 1, 1};
  sketch.points[1].remade = true;
  sketch.points[1].zero = 1;
  CHECK(sketch.ranks() == 8);
  const list<seating> seats = seatings_of(sketch, model, {}, 32, {});
  REQUIRE(seats.size() == 2);
  CHECK(seats[1].with == 0);
  const list<seat_layout> found = seat_layouts(seats, on);
  REQUIRE(!found.empty());
  const plan of = plan_of(sketch, found[0], model, on, 2);
  CHECK(check_plan(of, facts_of(model), 32).ok());
  CHECK(of.cluster.ranks == 8);
  CHECK(of.cluster.ranks_per_node == 4);
  CHECK(of.modules[0].microbatches == 8);
  CHECK(of.modules[0].group == 4);
  CHECK(of.modules[0].stash == 1);
  CHECK(of.modules[1].remade == list<std::uint8_t>{1});
  CHECK(of.modules[1].zero == 1);
}

TEST_CASE("simpler plans, and plans of one structure") {
  plan_sketch plain{{{}, {}}, {-1, -1}, {}}, shared = plain, pipelined = plain, many = plain;
  shared.hosts[1] = 0;
  pipelined.points[0].split.stages = 2;
  many.points[1].microbatches = 8;
  CHECK(plain.simpler(shared));
  CHECK(plain.simpler(pipelined));
  CHECK(plain.simpler(many));
  CHECK_FALSE(many.simpler(plain));
  CHECK_FALSE(plain.simpler(plain));
  CHECK(plain.same_structure(many));
  CHECK_FALSE(plain.same_structure(shared));
  CHECK_FALSE(plain.same_structure(pipelined));
}

TEST_CASE("by time, equally fast ones as they came") {
  list<plan_sketch> all;
  for (const double lead : {3.0, 1.0, 3.0, 2.0}) all.push({{}, {}, {lead, 0, 0}});
  const auto order = by_time(all, 1);
  CHECK(order[0] == &all[1]);
  CHECK(order[1] == &all[3]);
  CHECK(order[2] == &all[0]);
  CHECK(order[3] == &all[2]);
}
