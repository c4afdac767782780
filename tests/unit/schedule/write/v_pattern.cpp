// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/v_pattern.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

using namespace motet;

static_assert(proven_by_compiler<v_half, pipeline_shape{4, 8}>);
static_assert(proven_by_compiler<v_min, pipeline_shape{4, 8}>);
static_assert(proven<v_half, pipeline_shape{64, 512}> &&
              !proven_by_compiler<v_half, pipeline_shape{64, 512}>);

namespace {

struct outcome {
  double makespan, kept;
};
outcome run(const score& of) {
  const program made = compile(of);
  const cost_table costs = even_costs(made, {2, 2, 2});  // each part of a chunk takes 1
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  double most = 0;
  for (const double each : analyse(made, costs, when).peak_live) most = std::max(most, each);
  return {when.makespan, most};
}

template <class Schedule>
void check_laws() {
  for (int stages = 1; stages <= 4; ++stages)
    for (const int microbatches : {1, stages, 2 * stages + 1}) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      const pipeline_shape shape{.stages = stages, .microbatches = microbatches};
      laws::check_schedule<Schedule>(shape, 8, [&](int) { return 2 * Schedule::keeps(shape); });
    }
}

}  // namespace

TEST_CASE_TEMPLATE("laws", Schedule, v_half, v_min) { check_laws<Schedule>(); }

TEST_CASE("half the memory and half the bubble of 1F1B, or a third and two thirds") {
  for (int stages = 1; stages <= 12; ++stages)
    for (const int microbatches : {1, stages, 2 * stages, 3 * stages + 1}) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      const pipeline_shape shape{.stages = stages, .microbatches = microbatches};
      const score half = v_half::write(shape), third = v_min::write(shape);
      REQUIRE(prove(half).ok());
      REQUIRE(prove(third).ok());
      CHECK(run(half).kept <= stages / 2 + 1);
      CHECK(run(third).kept <= (stages + 1) / 3 + 1);
      if (microbatches < stages) continue;
      // bubble of 1F1B, in times of a chunk's part
      const int busy = 6 * microbatches, classic = 6 * (stages - 1);
      CHECK(run(half).makespan - busy <= classic / 2);
      CHECK(run(third).makespan - busy <= classic * 2 / 3 + 1);
    }
}

TEST_CASE("numbers that do not fit") {
  CHECK(v_half::check({.stages = 8, .microbatches = 8, .memory = 5}).ok());
  CHECK(v_half::check({.stages = 8, .microbatches = 8, .memory = 4}).why == reason::too_little_memory);
  CHECK(v_min::check({.stages = 8, .microbatches = 8, .memory = 4}).ok());
  const verdict tight = v_min::check({.stages = 8, .microbatches = 8, .memory = 3});
  CHECK(tight.got == 3);
  CHECK(tight.wanted == 4);
  CHECK(v_min::check({.stages = 8, .microbatches = 8, .chunks = 1}).why == reason::chunks_are_fixed);
}
