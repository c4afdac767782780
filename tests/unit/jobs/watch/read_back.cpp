// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_lines.hpp"

#include <motet/format/text/json_read.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what every policy keeps is kept again by who read it back, and goes on") {
  const jobs_here on = small_jobs();
  const std::vector<told_line> lines = lines_of(on, 3);
  const std::size_t told = lines.size() / 4;
  for (const std::string_view policy : policy_names) {
    CAPTURE(policy);
    life own(on, policy), next(on, policy);
    for (std::size_t n = 0; n < told; ++n) own.live.take(lines[n].line, lines[n].time, "lines");
    const std::string state = write_json(own.live.keep());
    next.live.read_back(read_json(state, "state"));
    CHECK(write_json(next.live.keep()) == state);
    for (life* each : {&own, &next}) each->live.take(lines[told].line, lines[told].time, "lines");
    CHECK(write_json(next.live.keep()) == write_json(own.live.keep()));
  }
}

TEST_CASE("a state of something else is refused") {
  const jobs_here on = small_jobs();
  life own(on, "crius");
  for (const told_line& each : lines_of(on, 1)) own.live.take(each.line, each.time, "lines");
  const json state = own.live.keep();
  const auto refused = [&](const char* policy, const json& from, const jobs_here& of) {
    life next(of, policy);
    CHECK_THROWS_AS(next.live.read_back(from), error);
  };
  refused("motet", state, on);
  refused("fcfs", state, on);
  refused("elasticflow", state, on);
  for (const json::member each : state.members()) {
    json less{json::object{}};
    for (const json::member other : state.members())
      if (other.name != each.name) less.set(other.name, other.value);
    refused("crius", less, on);
  }
  jobs_here larger = on;
  ++larger.cluster.kinds[0].nodes;
  refused("crius", state, larger);
}
