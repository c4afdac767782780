// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cells/encoder_home.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a chain's encoder lives in the first stage or apart, on each number of devices") {
  const cluster_facts kind = cluster_named("a800-96");
  double before = 1e9;
  for (const std::int32_t devices : {24, 48, 96}) {
    CAPTURE(devices);
    const std::vector<home_row> rows = home_rows(*find_chain("mllm-9b"), kind, devices, 128);
    REQUIRE(rows.size() == 3);
    for (const home_row& each : rows) {
      CHECK(each.cell.devices == devices);
      if (each.runs) CHECK(each.step_seconds.bar > 0);
      if (each.runs) CHECK(each.cell.stages >= 1);
    }
    const home_row* const best = fastest(rows);
    REQUIRE(best != nullptr);
    CHECK(best->home != encoder_home::first_stage);  // one tensor degree for all is never the quickest here
    CHECK(best->step_seconds.value < before);
    before = best->step_seconds.value;
  }
}
TEST_CASE("encoders of a large language model live in one pipeline with it, or in its gaps") {
  const std::vector<home_row> rows =
      home_rows(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-1536"), 1536, 1536);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].home == encoder_home::first_stage);
  CHECK(fastest(rows)->home == encoder_home::filled);
  CHECK(name_of(fastest(rows)->home) == "filled");
}
TEST_CASE("a home that has no room is a row that does not run") {
  const std::vector<home_row> rows =
      home_rows(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-8"), 8, 1536);
  for (const home_row& each : rows) CHECK_FALSE(each.runs);
  CHECK(fastest(rows) == nullptr);
}
