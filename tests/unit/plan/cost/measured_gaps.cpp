// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/measured_gaps.hpp>

#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// An eye over two ranks of a tensor group, in a lane of its own, and words on both by themselves.
plan beside() {
  plan out{{.ranks = 2}, "batch_sync", {}};
  out.modules = {on_ranks("eye", 0, {.tensor = 2}), on_ranks("talk", 0, {.data = 2})};
  out.modules[0].lane = 1;
  return out;
}
list<module_facts> facts() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 2, .key_heads = 4});
  out.push({.name = "talk", .layers = 2, .key_heads = 4});
  return out;
}
program order_of(const plan& of) {
  score order;
  REQUIRE(write_plan(of, facts(), order, 8).ok());
  return compile(order);
}
double seconds(const program& of, const cost_table& costs) {
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  return when.makespan;
}
constexpr gap_degrees by_tensor{.tensor = 2};

}  // namespace

TEST_CASE("ranks wait for tensor, context and experts, and for replicas that share gradients or weights") {
  module_plan own = on_ranks("eye", 0, {.stages = 2, .data = 4, .context = 3, .tensor = 2});
  CHECK(gap_degrees_of(own) == gap_degrees{.tensor = 2, .context = 3});
  own.zero = 1;
  CHECK(gap_degrees_of(own) == gap_degrees{.tensor = 2, .context = 3});
  own.zero = 3;
  CHECK(gap_degrees_of(own) == gap_degrees{.tensor = 2, .context = 3, .zero = 3, .data = 4});
  own = on_ranks("eye", 0, {.data = 4});
  CHECK_FALSE(gap_degrees_of(own).waits());
  own.experts = 2;
  CHECK(gap_degrees_of(own) == gap_degrees{.experts = 2});
  own = on_ranks("eye", 0, {.stages = 4});
  own.zero = 2;
  CHECK_FALSE(gap_degrees_of(own).waits());
}

TEST_CASE("a share of the same is put in place of the old one") {
  list<measured_gaps> all;
  put_gaps(all, {"eye", by_tensor, {.5, .5, .5}});
  put_gaps(all, {"eye", {.tensor = 4}, {.75, .75, .75}});
  put_gaps(all, {"eye", by_tensor, {.25, 0, 0}});
  REQUIRE(all.size() == 2);
  CHECK(*find_gaps(all, "eye", by_tensor) == gap_shares{.25, 0, 0});
  CHECK(find_gaps(all, "talk", by_tensor) == nullptr);
  CHECK(find_gaps(all, "eye", {.context = 2}) == nullptr);
}

TEST_CASE("what was measured of a step is what its plan is then simulated with") {
  const plan of = beside();
  const program steps = order_of(of);
  cost_table ran = even_costs(steps, {4, 2, 6, 0, 0, 0, 1, 1, 1.5});
  const list<measured_gaps> seen = gaps_of_step(steps, of, ran);
  // Nobody waits inside what replicas compute, whatever the table says of them.
  REQUIRE(seen.size() == 1);
  CHECK(seen[0] == measured_gaps{"eye", by_tensor, {.25, .5, .25}});

  // Operations take what they compute and, beside that, what is waited; the others stay as they are.
  cost_table counted = even_costs(steps, {3.5, 1.25, 4.5, 0, 0, 0, .5, .25, 0});
  put_measured_gaps(counted, steps, of, seen);
  for (const voice& each : steps.voices) {
    const stage_cost& own = counted.stages[each.first_place];
    if (each.module == 0) {
      CHECK((own.forward == 4 && own.backward_input == 2 && own.backward_weight == 6));
      CHECK((own.forward_gaps == 1 && own.input_gaps == 1 && own.weight_gaps == 1.5));
    } else {
      CHECK((own.forward == 3.5 && own.backward_input == 1.25 && own.forward_gaps == .5));
    }
  }
  // All of an operation is never waited.
  for (stage_cost& each : ran.stages) each.forward_gaps = each.forward;
  CHECK(gaps_of_step(steps, of, ran)[0].of.forward == most_waited);
}

TEST_CASE("a lane beside another is faster by exactly the gaps that were measured") {
  const plan of = beside();
  const program steps = order_of(of);
  // Forwards alone; of the eye's second, the rest is waited: of both lanes, each computes half of the time.
  const auto lasts = [&](double share) {
    cost_table costs = even_costs(steps, {1, 0, 0});
    list<measured_gaps> by;
    by.push({"eye", by_tensor, {share, 0, 0}});
    put_measured_gaps(costs, steps, of, by);
    for (const voice& each : steps.voices)
      if (each.module == 1) costs.stages[each.first_place] = {1, 0, 0};
    return seconds(steps, costs);
  };
  CHECK(lasts(0) == doctest::Approx(2));
  for (const double share : {.25, .5, .9}) {
    CAPTURE(share);
    // The words have the device whole while the eye waits. They end first, and the eye goes on by itself.
    cost_table costs = even_costs(steps, {1, 0, 0});
    const double alone = 1 / (1 - share), words = 1 / speed_in_gaps(costs, 0, 0b11, {0, share}),
                 eye = speed_in_gaps(costs, 1, 0b11, {0, share});
    const double wanted = words * eye < alone ? words + (alone - words * eye) : 0;
    REQUIRE(wanted > 0);
    CHECK(lasts(share) == doctest::Approx(wanted));
    CHECK(lasts(share) < 1 + alone);  // as it would be if nobody computed in gaps
  }
}
