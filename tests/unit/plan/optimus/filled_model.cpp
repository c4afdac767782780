// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/filled_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("models by name: encoders, then a language model") {
  const auto two = find_filled_model("vit-22b+vit-11b+gpt-175b");
  REQUIRE(two);
  CHECK((two->encoders.size() == 2 && two->encoders[1].parameters == 10e9 && two->language.layers == 96));
  for (const char* const none :
       {"", "gpt-175b", "vit-22b", "vit-22b+", "gpt-175b+vit-22b", "vit-22b+vit-3b", "vit-1b+gpt-11b"}) {
    CAPTURE(none);
    CHECK(!find_filled_model(none));
  }
  for (const layered_model& each : known_encoders) CHECK((each.encodes && each.hidden == 4 * each.width));
}
TEST_CASE("FLOPs of a step are those of the published table") {
  // 5.12e18 in all nine of its cells, forwards counted twice.
  CHECK(find_filled_model("vit-22b+gpt-175b")->step_flops(1536) == doctest::Approx(5.12e18).epsilon(0.03));
}
TEST_CASE("times of layers are those that were published") {
  const cluster_facts on = cluster_named("hopper-3072");
  CHECK(on.devices() == 3072);
  const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), on);
  CHECK(costs.forward(known_encoders[3], 8) == doctest::Approx(1.4e-3).epsilon(0.03));
  CHECK(costs.backward(known_encoders[3], 8) == doctest::Approx(2.0e-3).epsilon(0.03));
  CHECK(costs.exchange(costs.model().language, 8) == doctest::Approx(300e-6).epsilon(0.03));
  const grid_3d grid{48, 8, 8};
  CHECK(costs.gather(grid) == doctest::Approx(0.115).epsilon(0.01));
  CHECK(costs.scatter(grid) == doctest::Approx(0.31).epsilon(0.02));
  CHECK(costs.gather({1, 8, 8}) == 0);
  for (const char* const none : {"hopper-", "hopper-12", "hopper-0", "hopper-8x", "hopper--8"}) {
    CAPTURE(none);
    CHECK_THROWS_WITH_AS(cluster_named(none), doctest::Contains("wanted a multiple of 8 devices"), error);
  }
}
