// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <csignal>

#include "unit/format/scratch.hpp"

using motet::json;
using motet::saved_tensor;
using names = std::set<std::string>;

namespace {

void save(const std::filesystem::path& run, std::int64_t step, const std::vector<float>& values,
          std::size_t keep = 2, bool optimizer = true) {
  const std::vector<saved_tensor> weights{
      {"a.weight", {static_cast<motet::isize>(values.size())}, values.data()}};
  const std::vector<saved_tensor> moments{{"a.weight.m", {1}, values.data()},
                                          {"a.weight.v", {1}, values.data()}};
  motet::checkpoint_contents contents{step, "tiny", json{{"seed", 7}}, weights, {}};
  if (optimizer) contents.optimizer = moments;
  motet::save_checkpoint(run, contents, keep);
}

}  // namespace

TEST_CASE("a run keeps the newest checkpoints and says which is last") {
  const scratch folder;
  for (const int step : {10, 20, 30, 40}) save(folder / "run", step, {1, 2, static_cast<float>(step)});
  CHECK(folder.names("run") == names{"latest", "step-000030", "step-000040"});
  CHECK(folder.names("run/step-000040") == names{"index.json", "model.safetensors", "optimizer.safetensors"});
  CHECK(motet::mapped_file(folder / "run/latest").text() == "step-000040\n");
  save(folder / "run", 50, {1}, 0);
  save(folder / "run", 1'234'567, {1}, 0);
  CHECK(folder.names("run") == names{"latest", "step-000030", "step-000040", "step-000050", "step-1234567"});
  CHECK(motet::latest_checkpoint(folder / "run") == folder / "run/step-1234567");
}

TEST_CASE("the same step is replaced, and weights may come alone") {
  const scratch folder;
  save(folder.path(), 1, {1, 2, 3});
  save(folder.path(), 1, {4, 5, 6}, 2, false);
  CHECK(folder.names() == names{"latest", "step-000001"});
  CHECK(folder.names("step-000001") == names{"index.json", "model.safetensors"});
  const motet::checkpoint read(folder.path());
  CHECK_FALSE(read.has_optimizer());
}

TEST_CASE("a killed writer's leavings go away, an unrelated file stays") {
  const scratch folder;
  std::filesystem::create_directories(folder / ".step-000009.tmp-1-0");
  motet::write_file(folder / "metrics.jsonl", "{}\n");
  save(folder.path(), 10, {1});
  CHECK(folder.names() == names{"latest", "metrics.jsonl", "step-000010"});
}

TEST_CASE("a full disk keeps the previous checkpoint whole") {
  const scratch folder;
  save(folder.path(), 1, {1, 2, 3}, 1);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string code;
  try {
    save(folder.path(), 2, std::vector<float>(5000, 1.0f), 1);
  } catch (const motet::error& problem) {
    code = problem.code();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(code == "MT-F06");
  CHECK(folder.names() == names{"latest", "step-000001"});
  std::vector<float> values(3);
  const std::vector<motet::loaded_tensor> weights{{"a.weight", {3}, values.data()}};
  motet::checkpoint(folder.path()).load_weights("tiny", weights);
  CHECK(values == std::vector<float>{1, 2, 3});
}

TEST_CASE("a name cannot be a weight and optimizer state at once") {
  const scratch folder;
  const float value = 1;
  const std::vector<saved_tensor> both{{"a", {1}, &value}};
  CHECK_THROWS_AS(motet::save_checkpoint(folder.path(), {1, "tiny", {}, both, both}), motet::error);
  CHECK(folder.names().empty());
}
