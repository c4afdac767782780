// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/simulate/seconds_by_itself.hpp>

#include <motet/schedule/simulate/measured_costs.hpp>

#include "schedule_text.hpp"

#include <doctest/doctest.h>

using namespace motet;
using laws::a_voice;

namespace {

// Modules of one microbatch on the first rank, each in a lane; on the second rank the last of them again.
program in_lanes(const std::vector<int>& lanes) {
  score from;
  const auto modules = static_cast<std::int32_t>(lanes.size());
  for (std::int32_t k = 0; k <= modules; ++k) {
    voice each = a_voice(1, 1);
    each.module = k;
    each.lane = k < modules ? lanes[static_cast<std::size_t>(k)] : lanes.back();
    from.add(each, [&](int) { return k < modules ? 0 : 1; });
  }
  from.rank();
  for (std::int32_t k = 0; k < modules; ++k) {
    from.play(op::forward, k, 0, 0);
    from.play(op::backward, k, 0, 0);
  }
  from.rank();
  from.play(op::forward, modules, 0, 0);
  from.play(op::backward, modules, 0, 0);
  return compile(from);
}
cost_table costs_of(const program& of) {
  cost_table made;
  for (isize p = 0; p < of.places.size(); ++p) {
    const double t = static_cast<double>(p + 1);
    made.stages.push({2 * t, 1.5 / t, .5, 1});
    made.updates.push(.25 * t);
  }
  return made;
}

}  // namespace

TEST_CASE("what lanes share is taken out again, to what was given") {
  for (const std::vector<int>& lanes : {std::vector<int>{0, 1}, {0, 1, 1}, {0, 1, 2}, {1, 1}, {2, 0, 1}}) {
    const program of = in_lanes(lanes);
    cost_table costs = costs_of(of);
    costs.shares = {.5, .3, .2};
    costs.beside_others = {.9, .8, .5};
    costs.by_itself = {1, .3, .75};
    // By itself each rank, or both of them on so many processors.
    for (const double processors : {0., 1., 1.5, 8.}) {
      CAPTURE(processors);
      costs.processors = processors;
      timeline when;
      REQUIRE(simulate(of, costs, when).ok());
      const list<double> found = seconds_by_itself(of, when, costs);
      for (isize i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i] == doctest::Approx(costs.seconds(of, of.instructions[i])));
      }
      // So a step is foretold from a timeline of itself.
      timeline again;
      REQUIRE(simulate(of, measured_costs(of, {when}, costs), again).ok());
      CHECK(again.makespan == doctest::Approx(when.makespan));
    }
  }
}

TEST_CASE("without a second lane seconds are what passed") {
  const program of = in_lanes({0, 0});
  cost_table costs = costs_of(of);
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  costs.by_itself = {.1};
  const list<double> found = seconds_by_itself(of, when, costs);
  for (isize i = 0; i < found.size(); ++i) CHECK(found[i] == when.finish[i] - when.start[i]);
}
