// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/chain_forecast.hpp>

#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

chain_plan apart(motet::isize data) {
  chain_plan out;
  out.parts[0] = {1, 2 * data, 1};
  out.parts[1] = {2, data, 8};
  out.parts[2] = {1, 4 * data, 1};
  return out;
}

}  // namespace

TEST_CASE("drawn pictures have the mean that was asked for, and the same seed gives the same") {
  const chain_model& model = known_chains[0];
  const list<double> all = draw_pictures(model, 20000);
  double sum = 0, most = 0;
  for (const double each : all) {
    sum += each;
    most = std::max(most, each);
    REQUIRE(each >= 1);
  }
  CHECK(sum / 20000 == doctest::Approx(16).epsilon(0.02));
  CHECK(most > 60);
  CHECK(draw_pictures(model, 20000) == all);
}

TEST_CASE("with as many pictures in every sample a step is no longer than the stage-time model says") {
  const chain_costs costs(known_chains[0], cluster_named("a800-96"), 64);
  list<double> even(64);
  for (double& each : even) each = 16;
  for (const motet::isize data : {1, 2, 4})
    for (const chain_order order : {chain_order::as_they_come, chain_order::published, chain_order::even}) {
      const chain_plan how = apart(data);
      const chain_forecast found = forecast_chain(costs, how, even, order);
      CHECK(found.step_seconds <= costs.model_seconds(how) * (1 + 1e-12));
      CHECK(found.step_seconds >= 0.75 * costs.model_seconds(how));
      CHECK(found.samples_per_second == doctest::Approx(64 / found.step_seconds));
      // Its parts' work over its ranks is that of the whole.
      double flops = 0;
      for (motet::isize k = 0; k < 3; ++k)
        flops += found.parts[k].mfu * static_cast<double>(how.parts[k].ranks());
      CHECK(found.mfu * static_cast<double>(how.ranks()) == doctest::Approx(flops));
      CHECK(found.mfu == doctest::Approx(64 * known_chains[0].step_flops() /
                                         (312e12 * static_cast<double>(how.ranks()) * found.step_seconds)));
    }
}

TEST_CASE(
    "even microbatches are not slower than those that come, and a shared part is a column between them") {
  const chain_costs costs(known_chains[0], cluster_named("a800-96"), 128);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const list<double> pictures = draw_pictures(known_chains[0], 128, {.seed = seed});
    const chain_plan how = apart(4);
    CHECK(forecast_chain(costs, how, pictures, chain_order::even).step_seconds <=
          1.001 * forecast_chain(costs, how, pictures, chain_order::as_they_come).step_seconds);
  }
  const list<double> pictures = draw_pictures(known_chains[0], 128);
  chain_plan shared = apart(4), alone = shared;
  shared.shares[0] = shared.shares[2] = true;
  alone.parts[0] = alone.parts[2] = {};
  const double columns = forecast_chain(costs, shared, pictures, chain_order::even).step_seconds;
  // 128 x 16 pictures over 64 ranks, forward and back, beside the language model's pipeline.
  const double ends = 128.0 * 16 / 64 * 3 * (costs.unit_seconds(0, 1) + costs.unit_seconds(2, 1)),
               words = (32 + 1) * 3 * costs.stage_seconds(1, shared.parts[1], 4);
  CHECK(columns >= 0.95 * (ends + words));
  CHECK(columns <= 1.3 * (ends + words));
}
