// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/failures.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("drawn failures come as often as is said, of devices and of nodes, the same for the same seed") {
  const failure_rules rules{.devices = 1000, .nodes = 500, .repair = 20, .seed = 3};
  failure_stream drawn(rules, 40, 10), again(rules, 40, 10);
  double last = 0, repair = 0;
  int whole = 0;
  constexpr int count = 6000;
  std::vector<int> of_node(10);
  for (int i = 0; i < count; ++i) {
    const machine_failure each = drawn.take(), same = again.take();
    CHECK(each.at >= last);
    CHECK((each.at == same.at && each.node == same.node && each.device == same.device));
    last = each.at;
    repair += each.repair;
    whole += each.device < 0 ? 1 : 0;
    ++of_node[as_size(each.node)];
  }
  // 0.04 of devices and 0.02 of nodes a second.
  CHECK(last / count == doctest::Approx(1 / 0.06).epsilon(0.05));
  CHECK(repair / count == doctest::Approx(20).epsilon(0.05));
  CHECK(whole == doctest::Approx(count / 3.0).epsilon(0.07));
  for (const int each : of_node) CHECK(each == doctest::Approx(count / 10.0).epsilon(0.2));
  CHECK(std::isinf(failure_stream(failure_rules{}, 40, 10).next()));
}

TEST_CASE("listed failures come in the order of their time, and bad cells are named") {
  const job_cluster cluster{"c", {{"a", 3, 2, 1}, {"b", 2, 8, 1}}};
  failure_stream listed(
      read_failures("node,seconds,repair_seconds,device\n4,20,5,7\n0,10,5,\n", "f.csv", cluster));
  CHECK(listed.next() == 10);
  CHECK(listed.take().device == -1);
  CHECK(listed.take().device == 7);
  CHECK(std::isinf(listed.next()));
  const auto said = [&](const char* rows) {
    try {
      read_failures("seconds,node,device,repair_seconds\n" + std::string(rows), "f.csv", cluster);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(said("1,5,0,1\n").find("line 2, column node: got \"5\", wanted a node from 0 to 4") !=
        std::string::npos);
  CHECK(said("1,2,2,1\n").find("wanted a device of its node from 0 to 1") != std::string::npos);
  CHECK(said("1,3,2,-1\n").find("column repair_seconds") != std::string::npos);
}
