// SPDX-License-Identifier: Apache-2.0
#include <motet/front/feed/counted_costs.hpp>

#include <motet/plan/describe/plan.hpp>
#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/core/compile.hpp>

#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a unit of work costs a place what was counted, over the work of its largest microbatch") {
  using fed_speech = small_fed_speech<>;
  score order;
  plan of;
  of.cluster.ranks = 1;
  of.schedule = "1f1b";
  for (const char* name : {"eye", "glue", "talk"}) {
    of.modules.push(on_ranks(name, 0, {}, 3));
    of.modules[of.modules.size() - 1].group = 1;
  }
  REQUIRE(write_plan(of, facts_of<fed_speech>(), order, 7).ok());
  const program by = compile(order);
  program_work work;
  work.places.resize(3);
  for (std::size_t k = 0; k < 3; ++k)
    work.places[k].forward = 3e11 * longest_work<fed_speech>()[static_cast<motet::isize>(k)];
  work.places[2].backward_input = 2 * work.places[2].forward;
  const list<stage_cost> found = counted_costs<fed_speech>(by, work, 7);
  REQUIRE(found.size() == 3);
  // Of seven samples a microbatch has three at most.
  for (const stage_cost& each : found) CHECK(each.forward == doctest::Approx(1));
  CHECK(found[2].backward_input == doctest::Approx(2));
  CHECK(found[2].backward_weight == 0);
}
