// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/search_limit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const model_shape nothing{"one", {{.name = "one"}}};
const cluster_facts anywhere{};

}  // namespace

TEST_CASE("a search that nobody ends leaves nothing out") {
  const search_options options;
  const plan_contest contest(nothing, anywhere, 1, options, 1);
  search_limit limit(options, contest);
  CHECK_FALSE(limit.over("looking", 0, 1));
  limit.leave(0, 5, "plans");
  CHECK(limit.not_tried().empty());
}

TEST_CASE("once it is over it stays so, and says what was left out") {
  search_options options;
  motet::isize asked = 0;
  options.goes_on = [&](const search_news& news) {
    ++asked;
    CHECK(news.doing == "looking");
    CHECK(news.all == 4);
    CHECK(news.best_seconds == 0);
    return news.done < 2;
  };
  const plan_contest contest(nothing, anywhere, 1, options, 1);
  search_limit limit(options, contest);
  CHECK_FALSE(limit.over("looking", 0, 4));
  CHECK_FALSE(limit.over("looking", 1, 4));
  CHECK(limit.over("looking", 2, 4));
  CHECK(limit.over("looking", 0, 4));
  CHECK(asked == 3);
  limit.leave(2, 4, "plans");
  CHECK(limit.not_tried() == "2 of 4 plans");
  limit.leave("all others");
  CHECK(limit.not_tried() == "2 of 4 plans and all others");
  limit.leave(1, 8, "seats");
  CHECK(limit.not_tried() == "2 of 4 plans, all others and 1 of 8 seats");
  limit.lift();
  CHECK_FALSE(limit.over());
  CHECK_FALSE(limit.over("looking", 3, 4));
  CHECK(asked == 4);  // which tells where it stands
  CHECK(limit.not_tried().empty());
}
