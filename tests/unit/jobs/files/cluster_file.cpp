// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/cluster_file.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a cluster is read from a file") {
  const job_cluster lab = read_job_cluster(
      R"({"name": "lab", "kinds": [{"kind": "a", "nodes": 3, "per_node": 8, "memory_gb": 80}]})", "lab.json");
  CHECK(lab.name == "lab");
  CHECK(lab.devices() == 24);
  CHECK(lab.largest(0) == 16);
}

TEST_CASE("what is wrong in a file is named") {
  for (const char* const bad :
       {"[]", R"({"kinds": 3})", R"({"kinds": []})", R"({"kinds": [3]})", R"({"node": 3})",
        R"({"kinds": [{"kind": "a", "nodes": 1.5, "per_node": 8, "memory_gb": 80}]})",
        R"({"kinds": [{"kind": "a", "nodes": 1, "per_node": 8, "memory": 80}]})",
        R"({"kinds": [{"kind": "a", "nodes": "1", "per_node": 8, "memory_gb": 80}]})"}) {
    CAPTURE(bad);
    try {
      read_job_cluster(bad, "lab.json");
      FAIL("was read");
    } catch (const error& problem) {
      CHECK(std::string_view(problem.code()) == "MT-J07");
      CHECK(std::string(problem.what()).find("lab.json") != std::string::npos);
    }
  }
}
