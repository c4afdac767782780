// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/step_finder.hpp>

#include <motet/meta/mixed_bits.hpp>

#include "unit/plan/order/three_scores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace motet;

namespace {

// A third of six microbatches are eight times as heavy.
step_headers drawn(std::uint64_t seed) {
  list<double> work;
  for (int m = 0; m < 6; ++m) work.push(mixed_bits(seed += golden_step) % 3 == 0 ? 8.0 : 1.0);
  return bringing(work);
}

// Steps that simulation plays, on places that take so many times as long by each score.
struct played_steps {
  three_scores of;
  step_finder finds;
  std::vector<std::int32_t> played{};
  double seconds = 0;

  explicit played_steps(conduct_options how) : finds(of.scores, std::move(how)) {}
  found_step play(const step_headers& step, const std::vector<double>& times) {
    found_step next = finds.find(step);
    const timeline took =
        of.takes(next.score(), step, next.order, times[static_cast<std::size_t>(next.score())]);
    played.push_back(next.score());
    seconds += took.makespan;
    if (finds.begin(next)) finds.note(next, took);
    return next;
  }
};

}  // namespace

TEST_CASE("a score and its order are found together, and that is shorter than by either alone") {
  const order_search all{};
  const conduct_options none{.by = as_planned()}, score{.by = shortest_by_simulation{.margin = 0}},
      order{.by = as_planned(), .orders = all},
      both{.by = shortest_by_simulation{.margin = 0}, .orders = all};
  double took[4] = {};
  int at = 0;
  for (const conduct_options& how : {none, score, order, both}) {
    played_steps steps(how);
    for (std::uint64_t k = 0; k < 40; ++k) {
      const found_step found = steps.play(drawn(100 * k), {1, 1, 1});
      CHECK(found.order.size() == 6);
      CHECK(found.ordered.seconds == found.told.seconds);
      CHECK(found.ordered.seconds <= found.ordered.listed_seconds);
      if (!how.orders.wanted()) CHECK(found.order == in_turn(6));
    }
    took[at++] = steps.seconds;
  }
  CHECK(took[1] < took[0]);
  CHECK(took[2] < took[0]);
  CHECK(took[3] < took[1]);
  CHECK(took[3] < took[2]);
}

TEST_CASE("with orders a step is recorded in the order in which it ran") {
  played_steps steps({.by = as_planned(), .every = 1, .orders = {}});
  for (std::uint64_t k = 0; k < 6; ++k) {
    const step_headers step = drawn(7 * k);
    const found_step found = steps.play(step, {2, 2, 2});
    CHECK(found.told.measured == (k > 2));
    // Seconds are what the step takes, once the clock was read.
    const double unit = k > 2 ? 2 : 1;
    CHECK(found.told.seconds == doctest::Approx(unit * steps.of.takes(0, step, found.order).makespan));
  }
}

TEST_CASE("a score that took longer than it promised is tried again, in two of so many steps") {
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  for (const motet::isize after : {0, 64}) {
    CAPTURE(after);
    played_steps steps({.doubts_after = after});
    const auto of_zero_bubble = [&](int count, double times) {
      motet::isize played = 0;
      for (int k = 0; k < count; ++k) played += steps.play(even, {1, 1, times}).score() == 2 ? 1 : 0;
      return played;
    };
    // It promises to be a sixth shorter, and takes a quarter longer while others want the cores.
    CHECK(of_zero_bubble(20, 1.5) == 3);
    const motet::isize tried = of_zero_bubble(640, 1.5);
    if (after == 0) CHECK(tried == 0);
    else CHECK((tried >= 16 && tried <= 20));
    // Now they do not.
    const motet::isize played = of_zero_bubble(128, 1);
    if (after == 0) CHECK(played == 0);
    else CHECK(played >= 64);
  }
}

TEST_CASE("what was recorded long ago still counts where the score that plays gets slower") {
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  played_steps steps({.doubts_after = 64});
  for (int k = 0; k < 300; ++k) steps.play(even, {1, 1, 1});
  CHECK(steps.played.back() == 2);
  CHECK(std::count(steps.played.begin(), steps.played.end(), 0) < 5);
  // By the times of zero-bubble 1F1B would take longer still.
  for (int k = 0; k < 100; ++k) steps.play(even, {1, 1, 1.5});
  CHECK(steps.played.back() == 0);
}

TEST_CASE("a score that is not there is found without an order") {
  played_steps steps({.by = [](const coming_step&) { return 7; }});
  const found_step found = steps.finds.find(drawn(1));
  CHECK(found.score() == 7);
  CHECK(found.order.empty());
  CHECK_FALSE(steps.finds.begin(found));
}

TEST_CASE("the second to fourth step of a score are recorded, and then every eighth of the run") {
  played_steps steps({.by = [](const coming_step& next) { return next.scores.measured() ? 1 : 0; }});
  std::vector<int> recorded;
  for (int k = 0; k < 20; ++k) {
    const found_step next = steps.finds.find(drawn(1));
    if (steps.finds.begin(next)) {
      recorded.push_back(k);
      steps.finds.note(next, steps.of.takes(next.score(), next.of, next.order));
    }
  }
  CHECK(recorded == std::vector<int>{1, 2, 4, 5, 6, 8, 16});
}
