// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/dualpipe_v.hpp>

#include "schedule_laws.hpp"
#include "schedule_text.hpp"

#include <doctest/doctest.h>

using namespace motet;

static_assert(proven_by_compiler<dualpipe_v, pipeline_shape{4, 10}>);
static_assert(proven_by_compiler<dualpipe_v, pipeline_shape{1, 2}>);

TEST_CASE("laws") {
  for (int stages = 1; stages <= 4; ++stages)
    for (const int microbatches : {2 * stages, 2 * stages + 1, 3 * stages + 2}) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      laws::check_schedule<dualpipe_v>({.stages = stages, .microbatches = microbatches}, 6,
                                       [&](int) { return 2 * stages; });
    }
}

TEST_CASE("eight phases") {
  const score written = dualpipe_v::write({.stages = 2, .microbatches = 5});
  // Stages 0 and 3, then 1 and 2, where the V turns.
  CHECK(laws::order_of(written, 0) ==
        "F0 F1 F2 F0.3 I0.3 W0.3 F1.3 F3+ B1.3 F2.3+ B0 F4+ B2.3 F3.3+ B1 B3.3 F4.3+ B2 B4.3 I3 W3 I4 W4");
  CHECK(laws::order_of(written, 1) ==
        "F0 F0.2 F1 F1.2 F2 B0.2 F2.2+ B0 F3+ B1.2 F3.2+ B1 F4+ B2.2 F4.2+ B2 B3.2 B3 I4.2 I4 W4.2 W4");
}

TEST_CASE("the published bubble and memory") {
  struct row {
    stage_cost chunk;
    double overlapped;
  };
  // Chunk times; overlapped, a forward and a backward take less than one after the other.
  const row rows[] = {{{1, 1, 1}, 3}, {{1, 1, 1}, 2.5}, {{1, 1, 1}, 2.25}, {{1, 1.2, .8}, 2.5}};
  for (int stages = 1; stages <= 8; ++stages)
    for (int microbatches = 2 * stages; microbatches <= 4 * stages; ++microbatches) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      const score written = dualpipe_v::write({.stages = stages, .microbatches = microbatches});
      REQUIRE(prove(written).ok());
      const program made = compile(written);
      for (const delivery how : {delivery::buffered, delivery::rendezvous}) REQUIRE(check(made, how).ok());
      for (const row& each : rows) {
        cost_table costs = even_costs(
            made, {2 * each.chunk.forward, 2 * each.chunk.backward_input, 2 * each.chunk.backward_weight});
        costs.overlapped = 2 * each.overlapped;
        timeline when;
        REQUIRE(simulate(made, costs, when).ok());
        const analysis found = analyse(made, costs, when);
        double idle = 0, kept = 0;
        for (int r = 0; r < stages; ++r) {
          idle = std::max(idle, found.ranks[r].idle());
          kept = std::max(kept, found.peak_live[r]);
        }
        const double whole = each.chunk.backward_input + each.chunk.backward_weight;
        const double published = (stages - 1) * (each.overlapped + whole - 3 * each.chunk.backward_weight);
        // The formula is exact for equal parts, and a bound for the other.
        if (each.chunk.backward_weight == 1) CHECK(idle == doctest::Approx(published));
        else CHECK(idle <= published + 1e-9);
        CHECK(kept == stages + .5);  // 2 * stages + 1 chunks
      }
    }
}

TEST_CASE("numbers that do not fit") {
  const verdict few = dualpipe_v::check({.stages = 4, .microbatches = 7});
  CHECK(few.why == reason::too_few_microbatches);
  CHECK(few.got == 7);
  CHECK(few.wanted == 8);
  const verdict tight = dualpipe_v::check({.stages = 4, .microbatches = 8, .memory = 4});
  CHECK(tight.why == reason::too_little_memory);
  CHECK(tight.wanted == 5);
  CHECK(dualpipe_v::check({.stages = 4, .microbatches = 8, .memory = 5}).ok());
  CHECK(dualpipe_v::check({.stages = 4, .microbatches = 8, .chunks = 1}).why == reason::chunks_are_fixed);
}
