// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/stand_in.hpp>

#include <motet/backend/transport/local/local.hpp>
#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;
using on_threads = stand_in<local::world, local::endpoint>;

namespace {

double simulated(const program& of, const cost_table& costs) {
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  return when.makespan;
}

// No computation, message or meeting is shorter than its cost, so a run takes no less than the simulation
// says; how much more, the machine decides.
void compare(const program& of, const cost_table& costs) {
  constexpr double unit = 0.0004;
  on_threads all(of, costs, unit, 20);
  const double wanted = simulated(of, costs) * unit;
  for (int step = 0; step < 2; ++step) {
    const stand_in_result found = all.run();
    CHECK(found.seconds >= wanted * (1 - 1e-9));
    CHECK(found.seconds == found.when.makespan);
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (is_compute(it.what) && costs.jitter == 0) CHECK(found.when.finish[i] > 0);
      CHECK(found.when.finish[i] >= found.when.start[i]);
    }
  }
}

}  // namespace

TEST_CASE("computations wait as long as they cost") {
  const program of = compile(zb_h1::write({3, 6}));
  compare(of, even_costs(of, {1, 1.5, 0.5}));
  const program towers = compile(batch_sync::write({{{2, 8, 4, 2}, {1, 8, 4, 0, 1}}, 2}));
  compare(towers, even_costs(towers, {1, 1, 1}, 2));
}

TEST_CASE("jitter is that of the simulation") {
  const program of = compile(one_f_one_b::write({2, 6}));
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.jitter = 0.5;
  costs.seed = 3;
  compare(of, costs);
}

TEST_CASE("messages take their wire's latency and their bytes' time") {
  const program of = compile(one_f_one_b::write({3, 4}));
  cost_table costs = even_costs(of, {1, 1, 1, 0, 100, 50});
  costs.wires.inside = {2, 50};
  CHECK(simulated(of, costs) > simulated(of, even_costs(of, {1, 1, 1})) + 15);
  compare(of, costs);
}

TEST_CASE("shards that compute together, and sums of their gradients") {
  plan both;
  both.cluster.ranks = 4;
  both.modules.push(on_ranks("picture", 0, {.data = 2, .tensor = 2}, 2));
  score order;
  REQUIRE(write_plan(both, {{.name = "picture", .layers = 2, .key_heads = 2}}, order).ok());
  const program of = compile(order);
  cost_table costs = even_costs(of, {1, 1, 1}, 1);
  costs.reduction = 2;
  compare(of, costs);
}

TEST_CASE("many ranks on few processors") {
  const pipeline_shape shape{64, 8};
  const program of = compile(one_f_one_b::write(shape));
  compare(of, even_costs(of, {1, 1, 1}));
}

TEST_CASE("a program without costs runs at once") {
  const pipeline_shape shape{4, 200};
  const program of = compile(one_f_one_b::write(shape));
  on_threads all(of, even_costs(of, {0, 0, 0}), 1, 20);
  const stand_in_result found = all.run();
  CHECK(found.seconds > 0);
  CHECK(found.seconds < 10);
}

TEST_CASE("costs measured from its run foretell it") {
  // Ten times longer than the machine is inexact.
  const program of = compile(one_f_one_b::write({2, 6}));
  on_threads all(of, even_costs(of, {1, 2, 1}), 0.003, 20);
  list<timeline> steps;
  for (int step = 0; step < 3; ++step) steps.push(all.run().when);
  const cost_table costs = measured_costs(of, steps);
  for (const stage_cost& each : costs.stages) {
    CHECK(each.forward >= 0.9 * 0.003);
    CHECK(each.backward_input + each.backward_weight >= 0.9 * 0.009);
    CHECK(each.backward_input == each.backward_weight);
  }
  CHECK(simulated(of, costs) >= 0.9 * 0.003 * (1 + 4) * 6);
}

TEST_CASE("ranks that are late are reported") {
  const program of = compile(one_f_one_b::write({2, 2}));
  on_threads all(of, even_costs(of, {1, 1, 1}), 0.05, 0.02);
  CHECK_THROWS_WITH_AS(all.run(), doctest::Contains("MT-R07"), error);
}
