// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/plan_setback.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Two towers on ranks of their own, or on the same ones.
ranked_plan two_towers(double one, double other, bool together, double step) {
  ranked_plan out;
  out.how.cluster.ranks = 4;
  out.how.modules.push(on_ranks("one", 0, {1, 2, 1, 1}, 2));
  out.how.modules.push(on_ranks("other", together ? 0 : 2, {1, 2, 1, 1}, 2));
  out.gives.step_seconds = step;
  for (const double each : {one, other}) {
    module_forecast times;
    times.forward_seconds = each / 3;
    times.backward_seconds = 2 * each / 3;
    out.gives.modules.push(times);
  }
  return out;
}

}  // namespace

TEST_CASE("ranks are counted once") {
  CHECK(ranks_used(two_towers(1, 1, false, 2).how) == 4);
  CHECK(ranks_used(two_towers(1, 1, true, 4).how) == 2);
}

TEST_CASE("the parts of a step add up to it") {
  ranked_plan of = two_towers(3, 1, false, 8);
  of.gives.communication_share = 0.125;
  of.gives.join_seconds = 0.25;
  const step_parts parts = parts_of(of.how, of.gives);
  CHECK(parts.work == doctest::Approx(4));    // 6 and 2 seconds
  CHECK(parts.uneven == doctest::Approx(2));  // 6 of the busiest
  CHECK(parts.exchange == doctest::Approx(0.25));
  CHECK(parts.reductions == doctest::Approx(0.75));
  CHECK(parts.bubbles == doctest::Approx(1));
  CHECK(parts.work + parts.again + parts.uneven + parts.bubbles + parts.reductions + parts.exchange ==
        doctest::Approx(8));
}

TEST_CASE("forwards that run again are memory's") {
  ranked_plan of = two_towers(3, 3, false, 8);
  of.how.modules[0].stash = 0;
  // two microbatches of 1 second on half of the ranks
  CHECK(parts_of(of.how, of.gives).again == doctest::Approx(1));
  of.how.modules[0].stash = -1;
  of.how.modules[1].remade = {1};
  CHECK(parts_of(of.how, of.gives).again == doctest::Approx(1));
  ranked_plan best = two_towers(3, 3, false, 6);
  of.how.modules[1].remade = {};
  of.how.modules[0].stash = 0;
  of.gives.step_seconds = 8;
  const lost_by lost = setback_of(of, best);
  CHECK(lost.seconds == doctest::Approx(2));
  CHECK(lost.own == doctest::Approx(1));
}

TEST_CASE("the cause is the part that grew most") {
  const ranked_plan best = two_towers(2, 2, false, 4);
  const lost_by uneven = setback_of(two_towers(3, 1, false, 6), best);
  CHECK(uneven.cause == setback::uneven_towers);
  CHECK(uneven.own == doctest::Approx(2));
  CHECK(uneven.winners == 0);
  CHECK(setback_of(two_towers(3, 3, false, 6), best).cause == setback::work);
  CHECK(setback_of(two_towers(2, 2, false, 5), best).cause == setback::bubbles);
  ranked_plan slow = two_towers(2, 2, false, 5);
  slow.gives.communication_share = 0.2;
  CHECK(setback_of(slow, best).cause == setback::reductions);
  slow.gives.join_seconds = 1;
  CHECK(setback_of(slow, best).cause == setback::exchange);
}

TEST_CASE("as fast on more ranks") {
  const lost_by lost = setback_of(two_towers(2, 2, false, 4), two_towers(1, 1, true, 4));
  CHECK(lost.cause == setback::more_ranks);
  CHECK(lost.own == 4);
  CHECK(lost.winners == 2);
  CHECK(setback_of(two_towers(2, 2, false, 4), two_towers(2, 2, false, 4)).cause == setback::none);
}
