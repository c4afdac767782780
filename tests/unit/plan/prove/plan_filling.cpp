// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/plan_filling.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// An eye, a language model and a drawer, of which each feeds the next one.
list<module_facts> chain() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 2, .meets = false});
  out.push({.name = "talk", .layers = 6, .meets = false});
  out.push({.name = "draw", .layers = 2});
  out[1].from.push(0);
  out[2].from.push(1);
  return out;
}
plan of_two_ranks() {
  plan out{{.ranks = 2}, "1f1b", {}};
  out.modules.push(on_ranks("eye", 0, {.data = 2}, 2));
  out.modules.push(on_ranks("talk", 0, {.stages = 2}, 4));
  out.modules.push(on_ranks("draw", 0, {.data = 2}, 2));
  return out;
}

}  // namespace

TEST_CASE("some of a plan fill, or none") {
  plan of = of_two_ranks();
  CHECK(!detail::some_fill(of));
  of.modules[2].fills = true;
  CHECK(detail::some_fill(of));
}
TEST_CASE("a stage takes its share of what the plan says, or of its module's layers") {
  plan of = of_two_ranks();
  of.modules[1].forward_takes = 12;
  of.modules[1].layers = {4, 2};
  score order;
  voice talk;
  talk.module = 1;
  talk.stages = 2;
  talk.microbatches = 4;
  order.add(talk, [](int s) { return s; });
  voice draw;
  draw.module = 2;
  draw.microbatches = 2;
  order.add(draw, [](int) { return 0; });
  const cost_table found = detail::costs_of_plan(of, chain(), order);
  CHECK(found.stages[0].forward == doctest::Approx(8));
  CHECK(found.stages[1].forward == doctest::Approx(4));
  CHECK(found.stages[1].backward_input + found.stages[1].backward_weight == doctest::Approx(8));
  CHECK(found.stages[2].forward == doctest::Approx(2.0 / 4));  // layers, by 2 replicas of 2 microbatches
}
