// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/lane_speeds.hpp>

#include "unit/plan/estimated_models.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

list<module_pair> pair_of(const char* first, const char* second, double one, double other) {
  module_pair two{first, second, 8, {}};
  add_point(two, {.5, 1, 1, one, other});
  list<module_pair> all;
  all.push(two);
  return all;
}
// An eye on both ranks, of which the words have one; a drawer is elsewhere.
plan of_lanes() {
  plan of;
  of.cluster.ranks = 3;
  of.modules.push(on_ranks("eye", 0, {.data = 2}, 2));
  of.modules.push(on_ranks("talk", 0, {}, 2));
  of.modules.push(on_ranks("draw", 2, {}, 2));
  return of;
}

}  // namespace

TEST_CASE("a lane keeps what its slowest module keeps beside those that share a rank with it") {
  plan of = of_lanes();
  CHECK(kept_beside_others(of, pair_of("eye", "talk", 1.25, 2)) == list<double>{1});
  of.beside("talk", .5);
  CHECK(kept_beside_others(of, pair_of("eye", "talk", 1.25, 2)) == list<double>{.8, .5});
  CHECK(kept_beside_others(of, pair_of("talk", "eye", 1.25, 2)) == list<double>{.5, .8});
  // Nothing was measured of them, or they never meet.
  CHECK(kept_beside_others(of, {}) == list<double>{1, 1});
  CHECK(kept_beside_others(of, pair_of("draw", "talk", 4, 4)) == list<double>{1, 1});
  // Faster than by itself is no property of a module.
  CHECK(kept_beside_others(of, pair_of("eye", "talk", .5, 2)) == list<double>{1, .5});
  // A third lane beside both, which has the slower one of its two pairs.
  of.modules[2] = on_ranks("draw", 0, {}, 2);
  of.beside("draw");
  list<module_pair> both = pair_of("eye", "draw", 1.25, 1.6);
  both.push(pair_of("draw", "talk", 2.5, 2)[0]);
  CHECK(kept_beside_others(of, both) == list<double>{.8, .5, .4});
}

TEST_CASE("a profile knows a plan's modules by names of its own") {
  plan of = of_lanes();
  of.beside("talk");
  CHECK(kept_beside_others(of, {"picture", "caption", "draw"}, pair_of("picture", "caption", 2, 4)) ==
        list<double>{.5, .25});
}

TEST_CASE("an estimate is longer by what lanes that are busy together take from each other") {
  // Nothing takes time but products. Both towers do the same, so they begin and end together.
  cluster_facts on = plain_cluster(1, 1);
  on.device.bytes_per_second = 1e30;
  model_shape model;
  model.towers = {tower_of_layers("left", 4, 256, 64), tower_of_layers("right", 4, 256, 64)};
  plan of;
  of.cluster.ranks = 1;
  of.modules.push(on_ranks("left", 0, {}, 1));
  of.modules.push(on_ranks("right", 0, {}, 1));
  const auto seconds = [&](double one, double other) {
    machine_profile measured;
    measured.pairs = pair_of("left", "right", one, other);
    return estimated(of, model, on, 64, {.measured = &measured}).step_seconds;
  };
  const double one_lane = seconds(2, 2);
  of.beside("right");
  const double joins = estimated(of, model, on, 64).join_seconds, towers = one_lane - joins;
  REQUIRE(joins < .2 * one_lane);
  CHECK(seconds(1, 1) == about(one_lane, 1e-6));
  CHECK(seconds(1.25, 1.25) == about(1.25 * towers + joins, 1e-6));
  // Of forwards of 1 each with halves of a device, the left one ends after 2 and 2/5 are left of the right
  // one, at 3/5 of the speed; by itself it is over after 2.4. Backwards do the same.
  CHECK(seconds(1, 1 / .6) == about(1.2 * towers + joins, 1e-6));
  // Three quarters and a quarter: the left one ends after 4/3, and 2/3 are left of the right one.
  of.modules[1].share = .25;
  CHECK(seconds(1, 1) == about(one_lane, 1e-6));
  CHECK(seconds(1, 2) == about((4. / 3 + 5. / 6) / 2 * towers + joins, 1e-6));
}
