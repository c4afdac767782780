// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/simulate/speed_in_gaps.hpp>
#include <motet/tensor/random.hpp>

#include "schedule_text.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;
using laws::a_voice;

namespace {

cost_table shared(const list<double>& shares) {
  cost_table made;
  made.shares = shares;
  return made;
}

// Two lanes that always have work. Each computes and waits in turn, for times drawn as those of clocks
// without memory; while both compute they have their shares of the device. The speed of the first one.
double drawn_speed(double share, double gaps, double others_gaps) {
  const random_stream draw(5, "gaps");
  std::uint64_t at = 0;
  struct {
    double share, gaps, left = 0;
    bool waits = true;
    double done = 0;
  } lanes[2] = {{share, gaps}, {1 - share, others_gaps}};
  double time = 0;
  for (int event = 0; event < 400000; ++event) {
    for (auto& each : lanes)
      while (each.left <= 0) {
        each.waits = !each.waits;
        each.left = -std::log(1 - draw.uniform(at++)) * (each.waits ? each.gaps : 1 - each.gaps);
      }
    double speeds[2], step = 1e300;
    for (int k = 0; k < 2; ++k) {
      speeds[k] = lanes[k].waits || lanes[1 - k].waits ? 1 : lanes[k].share;
      step = std::min(step, lanes[k].left / speeds[k]);
    }
    for (int k = 0; k < 2; ++k) {
      lanes[k].done += step * speeds[k];
      lanes[k].left -= step * speeds[k] + 1e-15;
    }
    time += step;
  }
  return lanes[0].done / time;
}

}  // namespace

TEST_CASE("a lane has the device to itself in the gaps of another") {
  // Without gaps, and by itself.
  static_assert(speed_in_gaps({}, 0, 0b11, {}) == .5);
  static_assert(speed_in_gaps({}, 1, 0b10, {0, .5}) == 1);
  // One waits for half of its time: a third of what both take, in which the other has all.
  CHECK(speed_in_gaps({}, 0, 0b11, {.5}) == doctest::Approx(2. / 3));
  CHECK(speed_in_gaps({}, 1, 0b11, {.5}) == doctest::Approx(2. / 3));
  // Both do.
  CHECK(1 / speed_in_gaps({}, 0, 0b11, {.5, .5}) == doctest::Approx((1 + std::sqrt(2)) / 2));
  // A lane that hardly computes slows nobody, and nobody slows it.
  CHECK(speed_in_gaps({}, 0, 0b11, {0, .999}) > .99);
  CHECK(speed_in_gaps({}, 1, 0b11, {0, .999}) > .99);
  // Threads of their own are not the other's in a gap.
  cost_table own = shared({.75, .25});
  own.by_itself = {.75, .25};
  CHECK(speed_in_gaps(own, 0, 0b11, {0, .5}) == doctest::Approx(.75));
  CHECK(speed_in_gaps(own, 1, 0b11, {0, .5}) == doctest::Approx(1 / (.5 / .25 + .5)));
}

TEST_CASE("gaps of drawn lengths that meet by chance give the same speeds") {
  for (const double share : {.25, .5, .75})
    for (const double own : {0., .2, .5})
      for (const double others : {0., .2, .5}) {
        CAPTURE(share);
        CAPTURE(own);
        CAPTURE(others);
        const double found = speed_in_gaps(shared({share, 1 - share}), 0, 0b11, {own, others});
        CHECK(found == doctest::Approx(drawn_speed(share, own, others)).epsilon(.05));
        CHECK(found >= speed_in_gaps(shared({share, 1 - share}), 0, 0b11, {own, 0}));
      }
}

TEST_CASE("simulated lanes compute in one another's gaps") {
  score from;
  for (int k = 0; k < 2; ++k) {
    voice each = a_voice(1, 1);
    each.module = each.lane = k;
    each.learns = k == 0;
    from.add(each, [](int) { return 0; });
  }
  from.rank();
  from.play(op::forward, 0, 0, 0);
  from.play(op::backward, 0, 0, 0);
  from.play(op::forward, 1, 0, 0);
  const program of = compile(from, {.update = false});
  cost_table costs;
  costs.stages = {{3, 2, 2}, {2, 0, 0}};
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  CHECK(when.makespan == doctest::Approx(9));
  CHECK(when.finish[0] == doctest::Approx(5));
  // Half of the forward is gaps: both have two thirds of their speed, until the other lane has done its work.
  costs.stages[0].forward_gaps = 1.5;
  REQUIRE(simulate(of, costs, when).ok());
  CHECK(when.finish[0] == doctest::Approx(4));
  CHECK(when.finish[2] == doctest::Approx(3));
  CHECK(when.makespan == doctest::Approx(8));
  // Each part of a backward has its own.
  costs.stages[0].input_gaps = .5;
  costs.stages[0].weight_gaps = 1;
  CHECK(costs.stages[0].gaps(op::forward) == .5);
  CHECK(costs.stages[0].gaps(op::backward) == doctest::Approx(1.5 / 4));
  CHECK(costs.stages[0].gaps(op::backward_input) == doctest::Approx(.25));
  CHECK(costs.stages[0].gaps(op::backward_weight) == doctest::Approx(.5));
  CHECK(costs.stages[1].gaps(op::backward) == 0);
}
