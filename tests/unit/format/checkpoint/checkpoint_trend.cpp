// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_trend.hpp>
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

using motet::json;
using motet::loss_course;
using motet::loss_trend;

namespace {

loss_trend after(int steps, double loss, double norm = 1) {
  loss_trend out;
  for (int i = 0; i < steps; ++i) out.add(loss, norm);
  return out;
}
void save(const std::filesystem::path& run, std::int64_t step, const json& state, std::size_t keep = 2) {
  const float one = 1;
  const std::vector<motet::saved_tensor> weights{{"a", {1}, &one}};
  motet::save_checkpoint(run, {step, "tiny", state, weights, {}}, keep);
}
json state_of(const loss_trend& of) {
  json out;
  out.set("trend", trend_json(of));
  return out;
}

}  // namespace

TEST_CASE("a trend is the same after writing and reading, and what is none is none") {
  const loss_trend kept = after(3, 2.5, 0.5);
  const auto read = motet::trend_of(state_of(kept));
  REQUIRE(read);
  CHECK(read->loss == kept.loss);
  CHECK(read->mean_norm == kept.mean_norm);
  CHECK(read->steps == 3);
  json trend = trend_json(kept), without;
  trend.set("steps", "three");
  without.set("trend", trend);
  CHECK_FALSE(motet::trend_of(without));
  for (const char* text : {"null", "{}", "{\"trend\":1}", "{\"trend\":{}}", "{\"trend\":{\"loss\":\"a\"}}"})
    CHECK_FALSE(motet::trend_of(motet::read_json(text)));
}

TEST_CASE("noise is no rise, a rise is told, a jump or a loss as far as twice the best is ruined") {
  const motet::kept_checkpoint best{10, after(10, 2)};
  CHECK(course_of(after(10, 2.1), &best) == loss_course::falls);
  CHECK(course_of(after(10, 2.5), &best) == loss_course::rises);
  CHECK(course_of(after(10, 4.5), &best) == loss_course::ruined);
  loss_trend dead = after(10, 2.1);
  dead.add(2.1, 1e-9);
  CHECK(course_of(dead, &best) == loss_course::ruined);
  loss_trend wild = after(10, 2.1);
  for (int i = 0; i < 30; ++i) wild.add(2.1, 5000);
  CHECK_FALSE(wild.jumps());
  CHECK(course_of(wild, &best) == loss_course::ruined);
  loss_trend jumped = after(20, 2);
  jumped.add(9, 1);
  CHECK(course_of(jumped, nullptr) == loss_course::ruined);
  loss_trend steep = after(20, 2);
  steep.add(2, 100);
  CHECK(course_of(steep, &best) == loss_course::ruined);
}

TEST_CASE("the best of a run stays beside the newest, one that tells nothing is no best") {
  const scratch folder;
  const auto path = folder / "run";
  save(path, 10, state_of(after(20, 3)));
  save(path, 20, state_of(after(20, 2)));
  for (const int step : {30, 40, 50}) save(path, step, state_of(after(20, 9)));
  CHECK(folder.names("run") == std::set<std::string>{"latest", "step-000020", "step-000040", "step-000050"});
  CHECK(motet::best_of(motet::trends_of(path))->step == 20);
  save(path, 60, json{});
  CHECK(folder.names("run") == std::set<std::string>{"latest", "step-000020", "step-000050", "step-000060"});
  save(path, 70, state_of(after(20, 1)), 1);
  CHECK(folder.names("run") == std::set<std::string>{"latest", "step-000070"});
}
