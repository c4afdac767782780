// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/plan_ranking.hpp>

#include "unit/plan/estimated_models.hpp"

namespace {

using namespace motet;

model_shape one_tower() {
  model_shape out;
  out.towers.push(tower_of_layers("only", 4, 256, 32));
  return out;
}
plan replicated(std::int32_t data, int microbatches = 1) {
  plan out;
  out.cluster.ranks = 8;
  out.modules.push(on_ranks("only", 0, {.data = data}, microbatches));
  return out;
}

struct by_parity {
  int odd = 0;
  static constexpr motet::isize spare = 1;
  bool alike(const by_parity& other) const { return odd == other.odd; }
  bool better(double seconds, const by_parity&, double other_seconds) const {
    return seconds < other_seconds;
  }
};

}  // namespace

TEST_CASE("the best are kept in order, as many as are asked for") {
  const model_shape model = one_tower();
  const cluster_facts on = plain_cluster(1, 8);
  search_options options;
  options.top = 3;
  plan_ranking ranking(model, on, 64, options);
  CHECK(ranking.empty());
  for (const std::int32_t data : {2, 8, 1, 4}) CHECK(ranking.offer(replicated(data)));
  const search_result found = ranking.result(9);
  CHECK(found.considered == 9);
  CHECK(found.simulated == 4);
  CHECK(found.plans.size() == 3);
  for (motet::isize i = 0; i < 3; ++i) CHECK(found.plans[i].how == replicated(8 >> i));
  CHECK(found.plans[0].why.cause == setback::none);
  CHECK(found.plans[1].why.cause == setback::work);
  CHECK(found.plans[1].why.seconds ==
        about(found.plans[1].gives.step_seconds - found.plans[0].gives.step_seconds));
}

TEST_CASE("no plan, and one that does not fit, are left out") {
  const model_shape model = one_tower();
  cluster_facts on = plain_cluster(1, 8);
  const search_options options;
  run_forecast gives;
  CHECK(estimate(replicated(8), model, on, options.bytes, 64, gives).ok());
  on.device.memory_bytes = gives.memory_bytes - 1;
  plan_ranking ranking(model, on, 64, options);
  CHECK_FALSE(ranking.offer(replicated(8)));
  CHECK_FALSE(ranking.offer(replicated(4)));
  CHECK_FALSE(ranking.offer(replicated(16)));  // there are 8
  CHECK(ranking.empty());
  CHECK(ranking.result(3).simulated == 2);
}

TEST_CASE(
    "of plans that are alike one stays, some are spare, and the first one may be asked to prove itself") {
  const model_shape model = one_tower();
  const cluster_facts on = plain_cluster(1, 8);
  search_options options;
  options.top = 1;
  plan_ranking<by_parity> ranking(model, on, 64, options);
  CHECK(ranking.offer(replicated(2), {1}));
  CHECK(ranking.offer(replicated(4), {0}));
  CHECK(ranking.offer(replicated(8), {1}));  // in the place of the first
  CHECK(ranking.offer(replicated(1), {0}));
  CHECK(ranking.best().odd == 1);
  CHECK(ranking.simulated() == 4);
  const search_result all = ranking.result(4);
  REQUIRE(all.plans.size() == 1);
  CHECK(all.plans[0].how == replicated(8));
  CHECK(ranking.best_seconds() == all.plans[0].gives.step_seconds);
  const search_result other = ranking.result(4, [](const plan& how) { return how != replicated(8); });
  REQUIRE(other.plans.size() == 1);
  CHECK(other.plans[0].how == replicated(4));
  CHECK(other.plans[0].why.cause == setback::none);
  CHECK(ranking.result(4, [](const plan&) { return false; }).plans.empty());
}
