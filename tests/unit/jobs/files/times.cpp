// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/times.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("times are found by model, size, batch, kind and layout") {
  const iteration_times got = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,gpus,iter_s,iter_s_e2e\n"
      "moe,1.3B,256,a40,1,2,2,4.5,\nmoe,690M,256,a40,2,2,4,1.5,1.75\nmoe,690M,512,a40,2,2,4,-1,\n",
      "t.csv");
  CHECK(got.size() == 3);
  REQUIRE(got.find("moe", "690M", 256, "a40", 2, 2) != nullptr);
  CHECK(got.find("moe", "690M", 256, "a40", 2, 2)->whole == 1.75);
  CHECK(got.find("moe", "1.3B", 256, "a40", 1, 2)->seconds == 4.5);
  CHECK(got.find("moe", "1.3B", 256, "a40", 1, 1) == nullptr);
  CHECK(got.sizes("moe") == std::vector<std::string>{"690M", "1.3B"});
  CHECK(got.knows("moe", "690M", 512));
  CHECK_FALSE(got.knows("moe", "1.3B", 512));
  CHECK(iteration_times::parameters("2.4B") == 2.4e9);
  CHECK(iteration_times::parameters("B") < 0);
  CHECK(iteration_times::parameters("12") < 0);
}

TEST_CASE("rows of times that do not fit are named") {
  const auto code = [](const std::string& row) {
    try {
      read_iteration_times("model,params,global_batch,gpu_type,hosts,gpus_per_host,gpus,iter_s\n" + row,
                           "t.csv");
    } catch (const error& problem) {
      return std::string(problem.code());
    }
    return std::string();
  };
  CHECK(code("m,1B,8,a,1,1,1,2\n").empty());
  CHECK(code("m,1B,8,a,1,1,1,\n") == "MT-J02");
  CHECK(code("m,1X,8,a,1,1,1,2\n") == "MT-J02");
  CHECK(code("m,1B,8,a,2,2,2,2\n") == "MT-J02");
  CHECK(code("m,1B,8,a,0,1,1,2\n") == "MT-J02");
  CHECK(code("m,1B,8,a,1,1,1,2\nm,1B,8,a,1,1,1,3\n") == "MT-J03");
  CHECK(code("") == "MT-J02");
}
