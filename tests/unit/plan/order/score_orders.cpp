// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/score_orders.hpp>

#include "unit/plan/order/three_scores.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {

const order_search as_listed{.asked = {.ranks = false, .slots = false}};

}  // namespace

TEST_CASE("each score has an order of its own, in which it takes no longer than as listed") {
  const three_scores of;
  const step_headers skewed = bringing({8, 1, 1, 8, 3, 1});
  score_orders orders(of.scores, skewed, {});
  for (std::int32_t k = 0; k < 3; ++k) {
    const ordered_step& found = orders.of(k);
    CHECK(found.seconds <= of.scores.seconds(k, skewed));
    // What is told of it is what simulation says of this order.
    CHECK(found.seconds == doctest::Approx(of.takes(k, skewed, found.order).makespan));
    sample_order all = found.order;
    std::sort(all.begin(), all.end());
    CHECK(all == in_turn(6));
  }
  CHECK(orders.of(2).seconds < of.scores.seconds(2, skewed));
}

TEST_CASE("where no order is asked for, samples stay as they are listed") {
  const three_scores of;
  const step_headers skewed = bringing({1, 2, 8, 1, 3, 1});
  CHECK_FALSE(as_listed.wanted());
  CHECK(order_search{}.wanted());
  score_orders orders(of.scores, skewed, as_listed);
  for (std::int32_t k = 0; k < 3; ++k) {
    CHECK(orders.of(k).order == in_turn(6));
    CHECK(orders.of(k).seconds == of.scores.seconds(k, skewed));
  }
}

TEST_CASE("a user's own order is asked for once, and is that of all scores") {
  const three_scores of;
  const step_headers skewed = bringing({1, 2, 8, 1, 3, 1});
  int asked = 0;
  order_search own = as_listed;
  own.by = [&](const step_headers& told) {
    ++asked;
    CHECK(&told == &skewed);
    return sample_order{5, 4, 3, 2, 1, 0};
  };
  CHECK(own.wanted());
  score_orders orders(of.scores, skewed, own);
  CHECK(asked == 0);
  for (std::int32_t k = 0; k < 3; ++k) {
    CHECK(orders.of(k).order == sample_order{5, 4, 3, 2, 1, 0});
    CHECK(orders.of(k).seconds == doctest::Approx(of.takes(k, skewed, orders.of(k).order).makespan));
  }
  CHECK(asked == 1);
}

TEST_CASE("scores share the swaps that one would have") {
  const three_scores of;
  const step_headers skewed = bringing({1, 2, 8, 1, 3, 1});
  const auto alone = [&](std::int32_t tries) {
    return of.scores.ordered(2,
                             [&](const program_order& by) { return by.find(skewed, {}, {.tries = tries}); });
  };
  for (const std::int32_t tries : {0, 90}) {
    score_orders orders(of.scores, skewed, {.until = {.tries = tries}});
    CHECK(orders.of(2).order == alone(tries / 3).order);
  }
}
