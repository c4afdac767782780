// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/estimate_plan.hpp>
#include <motet/plan/search/tower_points.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

namespace {

using namespace motet;

cluster_facts one_node(std::int32_t devices) {
  cluster_facts out;
  out.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
  out.devices_per_node = devices;
  out.inside = {2e-6, 1e9};
  out.between = {2e-5, 1e8};
  return out;
}
tower_outline net_of(motet::isize layers) {
  return {.name = "one", .layers = layers, .width = 64, .heads = 4, .tokens = 16, .embedding = 16};
}

run_forecast played(const tower_outline& net, const tower_point& how, const cluster_facts& on,
                    motet::isize samples, motet::isize joins) {
  plan alone;
  alone.cluster.ranks = on.devices();
  module_plan own = module_plan_of(net, how, joins);
  own.on = mesh::from(0, how.split);
  alone.modules.push(own);
  run_forecast found;
  REQUIRE(estimate(alone, {"", {net}}, on, {}, samples * joins, found).ok());
  return found;
}

}  // namespace

TEST_CASE("numbers of microbatches, and of what is kept of them") {
  CHECK(microbatch_counts(1) == list<int>{1});
  CHECK(microbatch_counts(5) == list<int>{1, 2, 3, 4, 5});
  CHECK(microbatch_counts(20) == list<int>{1, 2, 3, 4, 6, 8, 12, 16, 20});
  CHECK(microbatch_counts(0).empty());
  CHECK(stash_counts(1) == list<int>{-1, 0});
  CHECK(stash_counts(4) == list<int>{-1, 3, 2, 1, 0});
  CHECK(stash_counts(16) == list<int>{-1, 8, 4, 0});
}

TEST_CASE(
    "no simulated step is shorter than a point says, one of even stages is as long, and memory is the "
    "simulated one") {
  const cluster_facts on = one_node(8);
  laws::dice roll(3);
  int exact = 0, all = 0;
  for (int round = 0; round < 12; ++round) {
    const tower_outline net = net_of(roll.between(1, 4));
    const training_bytes bytes;
    const motet::isize samples = roll.between(4, 24), joins = roll.between(1, 2);
    tower_point_finder finder({net, on, bytes, samples, joins});
    const list<tower_point> points = finder.on(roll.between(1, 8));
    for (int draw = 0; draw < 12 && !points.empty(); ++draw) {
      const tower_point& each = points[roll.below(points.size())];
      const run_forecast found = played(net, each, on, samples, joins);
      const double least =
          std::max(step_seconds({each.seconds.lead, each.last_steady, each.seconds.drain}, joins), each.busy);
      CAPTURE(each.split.stages);
      CAPTURE(each.split.data);
      CAPTURE(each.microbatches);
      CHECK(least <= found.step_seconds * (1 + 1e-9));
      CHECK(each.bytes == doctest::Approx(found.memory_bytes).epsilon(0.06));
      CHECK(each.least_bytes <= each.bytes);
      ++all;
      exact += step_seconds(each.seconds, joins) > 0.97 * (found.step_seconds - found.join_seconds) ? 1 : 0;
    }
  }
  MESSAGE(exact << " of " << all << " within 3 %");
  CHECK(exact * 10 > all * 8);
}

TEST_CASE("every degree that divides, and nothing that does not fit") {
  cluster_facts on = one_node(8);
  const tower_outline net = net_of(3);
  const training_bytes bytes;
  bool tensor = false, context = false, pipeline = false, data = false, remade = false, stash = false,
       zero = false;
  tower_point_finder finder({net, on, bytes, 16, 1});
  for (const tower_point& each : finder.on(8)) {
    CHECK(each.ranks() == 8);
    CHECK(each.split.stages <= 3);
    CHECK(4 % each.split.tensor == 0);
    CHECK(isize{each.split.data} * each.microbatches <= 16);
    tensor = tensor || each.split.tensor == 4;
    context = context || each.split.context == 2;
    pipeline = pipeline || each.split.stages == 2;
    data = data || each.split.data == 8;
    remade = remade || each.remade;
    stash = stash || each.stash == 0;
    zero = zero || each.zero == 2;
  }
  CHECK((tensor && context && pipeline && data && remade && stash && zero));
  on.device.memory_bytes = finder.least_bytes() * 0.999;
  CHECK(tower_point_finder({net, on, bytes, 16, 1}).on(8).empty());
  on.device.memory_bytes = finder.least_bytes();
  CHECK(tower_point_finder({net, on, bytes, 16, 1}).on(8).size() > 0);
}

TEST_CASE("pins leave what they say") {
  const cluster_facts on = one_node(8);
  const tower_outline net = net_of(4);
  const training_bytes bytes;
  tower_question asked{net, on, bytes, 16, 2};
  asked.pin = {.name = "one", .stages = 2, .tensor = 2, .microbatches = 10, .stash = 3, .zero = 1};
  const list<tower_point> points = tower_point_finder(asked).on(8);
  REQUIRE(points.size() > 0);
  for (const tower_point& each : points) {
    CHECK(each.split.stages == 2);
    CHECK(each.split.tensor == 2);
    CHECK(each.microbatches == 5);
    CHECK(each.stash == 3);
    CHECK(each.zero == 1);
  }
  CHECK(tower_point_finder(asked).on(2).empty());
}

TEST_CASE("a frozen tower has one way for each cut, and no backward") {
  const cluster_facts on = one_node(4);
  tower_outline net = net_of(2);
  net.frozen = true;
  const training_bytes bytes;
  for (const tower_point& each : tower_point_finder({net, on, bytes, 8, 1}).on(4)) {
    CHECK(each.seconds.drain == 0);
    CHECK(each.stash == -1);
    CHECK(each.zero == 0);
    CHECK_FALSE(each.remade);
  }
}

TEST_CASE("of points, those that nothing beats") {
  const cluster_facts on = one_node(8);
  const tower_outline net = net_of(4);
  const training_bytes bytes;
  const list<tower_point> all = tower_point_finder({net, on, bytes, 32, 1}).on(8), best = best_points(all, 1),
                          thrifty = best_points(all, 1, true);
  REQUIRE(best.size() > 0);
  CHECK(thrifty.size() >= best.size());
  for (const tower_point& each : all) {
    bool beaten = false;
    for (const tower_point& other : best) beaten = beaten || covers(other.seconds, each.seconds, 1);
    CHECK(beaten);
  }
  for (motet::isize i = 1; i < best.size(); ++i)
    CHECK(step_seconds(best[i - 1].seconds, 1) <= step_seconds(best[i].seconds, 1));
}
