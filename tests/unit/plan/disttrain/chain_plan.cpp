// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/chain_plan.hpp>

#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

chain_plan apart() {
  chain_plan out;
  out.parts[0] = {1, 8, 1};
  out.parts[1] = {2, 4, 8};
  out.parts[2] = {1, 16, 1};
  return out;
}

}  // namespace

TEST_CASE("ranks and stages of a plan, with parts apart and on those of the language model") {
  chain_plan how = apart();
  CHECK_EQ(how.ranks(), 8 + 64 + 16);
  CHECK_EQ(how.stages(), 4);
  how.shares[0] = true;
  CHECK_EQ(how.ranks(), 64 + 16);
  CHECK_EQ(how.stages(), 3);
}

TEST_CASE("seconds follow from FLOPs, lanes and the share of the peak") {
  const chain_model& model = known_chains[0];
  const cluster_facts on = cluster_named("a800-96");
  const chain_costs costs(model, on, 128);
  const chain_plan how = apart();
  CHECK_EQ(costs.waves(how), 32);
  const double whole = costs.unit_seconds(0, 1);
  CHECK(whole == doctest::Approx(model.parts[0].flops / (312e12 * 0.72 * 1280 / (1280 + 220))));
  // Narrow columns are less of the peak, so that eight ranks take more than an eighth.
  CHECK(costs.unit_seconds(0, 8) > whole / 8);
  // 4 samples of 16 pictures over 8 lanes.
  CHECK_EQ(costs.units_of_lane(0, how.parts[0], 4), 8);
  CHECK_EQ(costs.units_of_lane(2, how.parts[2], 4), 4);
  CHECK(costs.stage_seconds(1, how.parts[1], 4) == doctest::Approx(costs.unit_seconds(1, 8) / 2));
  const double slowest =
      3 * std::max({costs.stage_seconds(0, how.parts[0], 4), costs.stage_seconds(1, how.parts[1], 4),
                    costs.stage_seconds(2, how.parts[2], 4)});
  const double through =
      3 * (costs.stage_seconds(0, how.parts[0], 4) + 2 * costs.stage_seconds(1, how.parts[1], 4) +
           costs.stage_seconds(2, how.parts[2], 4));
  CHECK(costs.model_seconds(how) == doctest::Approx(through + 31 * slowest + costs.sum_seconds(how)));
}

TEST_CASE(
    "bytes are weights and gradients, a share of the state, and what is kept of microbatches under way") {
  const chain_model& model = known_chains[0];
  const chain_costs costs(model, cluster_named("a800-96"), 128);
  const double parameters = model.parts[1].parameters;
  CHECK(costs.bytes(1, {2, 4, 8}, 4, 3) ==
        doctest::Approx(parameters * (6 + 12.0 / 4) / 16 + 3 * model.parts[1].kept_bytes / 16));
  chain_model frozen = model;
  frozen.parts[0].learns = false;
  const chain_costs of_frozen(frozen, cluster_named("a800-96"), 128);
  CHECK(of_frozen.bytes(0, {1, 8, 1}, 4, 4) == doctest::Approx(2 * model.parts[0].parameters));
}
