// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/cell_times.hpp>
#include <motet/jobs/policies/policies.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr const char* models_text = R"({
  "gpt__1B": {"towers": [{"name": "gpt", "layers": 24, "width": 2048, "heads": 16, "tokens": 512,
    "vocabulary": 50000}]},
  "gpt__100M": {"towers": [{"name": "gpt", "layers": 12, "width": 768, "heads": 12, "tokens": 512,
    "vocabulary": 50000}]}
})";
job_trace some_jobs(const job_cluster& cluster) {
  return read_job_trace(
      "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,gpu_type\n"
      "one,0,3000,gpt__1B,90000,128,2,fast\ntwo,10,3000,gpt__100M,90000,128,1,v100\n",
      "trace", cluster);
}

}  // namespace

TEST_CASE("times of cells are a table of times, with the cell behind each") {
  const job_cluster cluster{"c", {{"fast", 2, 4, 80, "h100"}, {"v100", 2, 8, 15}}};
  const job_trace trace = some_jobs(cluster);
  const cell_times found(cluster, trace, read_job_models(models_text, "models"));
  double before = 1e9;
  for (motet::isize n = 1; n <= 8; n *= 2) {
    const measured_time* const small =
        found.times().find("gpt", "100M", 128, "fast", n > 4 ? n / 4 : 1, n > 4 ? 4 : n);
    REQUIRE(small != nullptr);
    CHECK(small->seconds > 0);
    CHECK(small->seconds < before);
    CHECK(small->bar > 0.1 * small->seconds);
    before = small->seconds;
    const cell_row* const row = found.find("gpt__100M", 128, "fast", n);
    REQUIRE(row != nullptr);
    CHECK(row->gives.step_seconds.value == small->seconds);
    CHECK(row->cell.devices == n);
  }
  // 16 bytes of each of 1.3 billion parameters do not fit into one device of 15 GB.
  CHECK(found.times().find("gpt", "1B", 128, "v100", 1, 1)->seconds < 0);
  CHECK(found.find("gpt__1B", 128, "v100", 1) == nullptr);
  CHECK(found.times().find("gpt", "1B", 128, "v100", 1, 8)->seconds > 0);
}
TEST_CASE("policies choose among cells") {
  const job_cluster cluster{"c", {{"fast", 2, 4, 80, "h100"}, {"v100", 2, 8, 15}}};
  const job_trace trace = some_jobs(cluster);
  const cell_times found(cluster, trace, read_job_models(models_text, "models"));
  for (const char* const policy : {"crius", "motet"}) {
    policy_question asked;
    asked.policy = policy;
    const policy_answer got = play_policy(asked, cluster, trace, found.times(), {});
    CHECK(got.outcome.finished.size() == 2);
  }
}
TEST_CASE("what has no facts, no model or no size is refused") {
  const auto refused = [](const char* code, auto what) {
    try {
      what();
    } catch (const error& problem) {
      return std::string_view(problem.code()) == code;
    }
    return false;
  };
  CHECK(refused("MT-J21", [] { facts_of(device_group{"slow", 1, 4, 40}); }));
  CHECK(facts_of(device_group{"slow", 3, 4, 40, "a100"}).devices() == 12);
  CHECK(refused("MT-J20", [] { read_job_models("[]", "m"); }));
  CHECK(refused("MT-J20", [] { read_job_models("{}", "m"); }));
  CHECK(refused("MT-J20", [] { read_job_models(R"({"gpt": {"towers": []}})", "m"); }));
  CHECK(refused("MT-P71", [] { read_job_models(R"({"gpt__1B": 3})", "m"); }));
  const job_cluster cluster{"c", {{"fast", 2, 4, 80, "h100"}, {"v100", 2, 8, 15}}};
  CHECK(refused("MT-J05", [&] {
    cell_times(cluster, some_jobs(cluster), {{"gpt__1B", read_job_models(models_text, "m")[0].shape}});
  }));
}
