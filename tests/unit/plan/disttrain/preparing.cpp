// SPDX-License-Identifier: Apache-2.0
// A published row: docs/plan/published.md has it beside what comes out here.
#include <motet/plan/disttrain/preparing.hpp>

#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("D10: a sample of ten large pictures takes a second on its rank, and a millisecond from apart") {
  const cluster_facts on = cluster_named("a800-1296");
  const preparing of;
  CHECK(of.seconds_on_rank() == doctest::Approx(0.87).epsilon(0.01));
  CHECK(of.seconds_apart(on) == doctest::Approx(0.64e-3).epsilon(0.05));
  // So an iteration of some microbatches waits for seconds, or for milliseconds, however many cores help.
  preparing helped = of;
  helped.cores = 4;
  CHECK(helped.seconds_on_rank() > 100 * of.seconds_apart(on));
}

TEST_CASE("more pictures, larger ones and fewer cores take longer") {
  preparing more;
  more.pictures = 20;
  CHECK(more.seconds_on_rank() == doctest::Approx(2 * preparing().seconds_on_rank()));
  preparing larger;
  larger.side = 4096;
  CHECK(larger.seconds_on_rank() == doctest::Approx(4 * preparing().seconds_on_rank()));
  CHECK(larger.seconds_apart(cluster_named("a800-96")) ==
        preparing().seconds_apart(cluster_named("a800-96")));
}
