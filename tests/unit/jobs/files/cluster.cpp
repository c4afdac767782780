// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/cluster.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a cluster counts its devices, and knows the largest job of a kind") {
  const job_cluster arena = known_job_clusters()[0];
  CHECK(arena.name == "arena-sim-1280");
  CHECK(arena.devices() == 1280);
  CHECK(arena.nodes() == 420);
  CHECK(arena.find("a40") == 2);
  CHECK(arena.find("h100") == -1);
  CHECK(arena.largest(0) == 256);
  for (const job_cluster& each : known_job_clusters()) require_job_cluster(each, each.name);
}

TEST_CASE("what makes no cluster is refused") {
  const auto refused = [](const device_group& with) {
    try {
      require_job_cluster({"x", {with}}, "x.json");
    } catch (const error& problem) {
      return std::string(problem.what()).find("x.json, kind") != std::string::npos &&
             std::string_view(problem.code()) == "MT-J07";
    }
    return false;
  };
  CHECK(refused({"a", 0, 4, 40}));
  CHECK(refused({"a", 4, 3, 40}));
  CHECK(refused({"a", 4, 128, 40}));
  CHECK(refused({"a", 4, 4, 0}));
  CHECK(refused({"", 4, 4, 40}));
  CHECK_THROWS_AS(require_job_cluster({"x", {}}, "x"), error);
  CHECK_THROWS_AS(require_job_cluster({"x", {{"a", 1, 1, 1}, {"a", 1, 1, 1}}}, "x"), error);
}
