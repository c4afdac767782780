// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/deferral.hpp>

#include <motet/schedule/write/schedules.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace motet;

namespace {

struct points {
  std::vector<double> forward, deferred, backward;
  double makespan = 0;
};
// The first stage starts each forward then, at the earliest and at the latest, and has each gradient then.
points points_of(const program& of, const cost_table& costs) {
  timeline times;
  REQUIRE(simulate(of, costs, times).ok());
  const list<double> latest = defer_forwards(of, costs, times);
  points out;
  out.makespan = times.makespan;
  for (motet::isize i = 0; i < of.instructions.size(); ++i) {
    const instruction& each = of.instructions[i];
    if (each.stage != 0) continue;
    if (each.what == op::forward) {
      out.forward.push_back(times.start[i]);
      out.deferred.push_back(latest[i]);
    }
    if (each.what == op::backward) out.backward.push_back(times.finish[i]);
  }
  return out;
}
program interleaved_of(int stages, int chunks, int microbatches) {
  return compile(
      write_schedule("interleaved", {.stages = stages, .microbatches = microbatches, .chunks = chunks}),
      {messages::in_channels, false, false});
}
cost_table chunk_costs(const program& of, double forward, double backward) {
  cost_table made;
  made.stages.resize(of.places.size(), {forward, backward / 2, backward / 2});
  return made;
}

}  // namespace

TEST_CASE("the published case: 4 stages of 2 chunks, 8 microbatches, backward twice as long") {
  const program of = interleaved_of(4, 2, 8);
  const points found = points_of(of, chunk_costs(of, 1, 2));
  CHECK(found.makespan == 57);
  CHECK(found.forward == std::vector<double>{0, 1, 2, 3, 8, 9, 10, 16});
  CHECK(found.backward == std::vector<double>{29, 32, 34, 37, 51, 53, 55, 57});
  CHECK(found.deferred == std::vector<double>{0, 1, 2, 3, 10, 12, 13, 16});
}
TEST_CASE("8 stages of 12 chunks: the second half of 16 is deferred") {
  const program of = interleaved_of(8, 12, 16);
  const points found = points_of(of, chunk_costs(of, 1, 2));
  CHECK(std::vector<double>(found.forward.begin() + 8, found.forward.end()) ==
        std::vector<double>{96, 97, 98, 99, 100, 101, 102, 112});
  CHECK(std::vector<double>(found.deferred.begin() + 8, found.deferred.end()) ==
        std::vector<double>{100, 102, 103, 105, 106, 108, 109, 112});
  const points even = points_of(of, chunk_costs(of, 1, 1));
  CHECK(even.forward == even.deferred);
}
TEST_CASE("deferred forwards leave every schedule as long as it is") {
  laws::dice roll(5);
  std::set<std::string> seen;
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    const char* const names[] = {"gpipe",  "1f1b",  "interleaved", "zb_h1",      "zb_h2",     "zb_v",
                                 "v_half", "v_min", "zb_auto",     "dualpipe_v", "batch_sync"};
    const char* const name = names[n % 11];
    const int stages = 1 << roll.below(4), microbatches = 2 * stages * (1 + roll.below(3));
    score order;
    if (!write_schedule(name, {.stages = stages, .microbatches = microbatches}, order).ok()) continue;
    seen.insert(name);
    const program of = compile(order, {messages::in_channels, false, false});
    cost_table costs = even_costs(of, {1.0 + roll.below(9), 1.0 + roll.below(9), 1.0 + roll.below(9)});
    costs.wires.inside.latency = roll.below(3) * 0.1;
    timeline times;
    REQUIRE(simulate(of, costs, times).ok());
    const list<double> latest = defer_forwards(of, costs, times);
    // Where all are played at the latest, nothing overlaps and all that each needs is there.
    program_graph graph;
    REQUIRE(build_graph(of, delivery::buffered, graph).ok());
    const list<std::int32_t> previous = graph.previous_in_lane();
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      REQUIRE(latest[i] >= times.start[i] - 1e-9);
      const auto ends = [&](std::int32_t k) { return latest[k] + times.finish[k] - times.start[k]; };
      REQUIRE(ends(i) <= times.makespan + 1e-9);
      if (previous[i] >= 0 && !of.instructions[previous[i]].paired)
        REQUIRE(ends(previous[i]) <= latest[i] + 1e-9);
      for (const std::int32_t each : graph.waits_of(i))
        if (each >= 0) REQUIRE(ends(each) <= latest[i] + 1e-9);
      if (is_backward(of.instructions[i].what)) REQUIRE(latest[i] == times.start[i]);
    }
  }
  CHECK(seen.size() == 11);
}
