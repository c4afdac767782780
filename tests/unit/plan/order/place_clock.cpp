// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/place_clock.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr std::int32_t parts = 6;
const list<double> work{1, 5, 2, 7, 3, 3};

// The truth is what places take: seconds of their own, seconds for a unit of work, and the shares of both
// backward parts.
struct truth {
  double fixed, slope, input, weight;
};
timeline played(const program& of, const program_samples& samples, const list<truth>& places) {
  cost_table costs;
  costs.scale.resize(of.cells(), 0.0);
  for (const truth& each : places) costs.stages.push({1 - each.input - each.weight, each.input, each.weight});
  for (const voice& sings : of.voices)
    for (std::int32_t s = 0; s < sings.stages; ++s)
      for (std::int32_t m = 0; m < parts; ++m)
        costs.scale[sings.cell(s, m)] = places[s].fixed + places[s].slope * work[samples.cell_of(sings, m)];
  timeline when;
  CHECK(simulate(of, costs, when).ok());
  return when;
}
template <class Schedule>
void check_learned(const list<truth>& places) {
  const program of = compile(Schedule::write({.stages = 2, .microbatches = parts}));
  const program_samples samples(of, {sample_split{12, parts, 1, 1, {}}});
  // The clock begins as far from the truth as counts are from seconds.
  place_clock clock(samples, list<stage_cost>(2, stage_cost{1, 1, 1}));
  CHECK_FALSE(clock.measured());
  CHECK_EQ(clock.seconds(0, 2), 6);
  const timeline when = played(of, samples, places);
  clock.note(samples, work, when);
  CHECK(clock.measured());
  for (std::int32_t s = 0; s < 2; ++s)
    for (const double each : {1.0, 4.0, 9.0})
      CHECK(clock.seconds(s, each) == doctest::Approx(places[s].fixed + places[s].slope * each));
  // Played by what it knows, a step takes what it saw.
  timeline again;
  REQUIRE(simulate(of, clock.costs(samples, work), again).ok());
  CHECK(again.makespan == doctest::Approx(when.makespan));
}

}  // namespace

TEST_CASE("costs are those of the steps that were recorded") {
  check_learned<one_f_one_b>({{0.5, 2, 1.0 / 3, 1.0 / 3}, {0, 3, 0.3, 0.3}});
  check_learned<zb_h1>({{0.1, 2, 0.2, 0.4}, {1, 1, 0.5, 0.1}});
}

TEST_CASE("newer steps count more, and equal microbatches say what one takes") {
  const program of = compile(one_f_one_b::write({.stages = 2, .microbatches = parts}));
  const program_samples samples(of, {sample_split{12, parts, 1, 1, {}}});
  place_clock clock(samples, list<stage_cost>(2, stage_cost{1, 1, 1}));
  const list<truth> slow{{0, 4, 0.3, 0.3}, {0, 4, 0.3, 0.3}}, fast{{0, 1, 0.3, 0.3}, {0, 1, 0.3, 0.3}};
  clock.note(samples, work, played(of, samples, slow));
  for (int k = 0; k < 20; ++k) clock.note(samples, work, played(of, samples, fast));
  CHECK(clock.seconds(0, 2) == doctest::Approx(2).epsilon(0.01));

  place_clock even(samples, list<stage_cost>(2, stage_cost{1, 1, 1}));
  const list<double> same(parts, 3.0);
  timeline when = played(of, samples, slow);
  // As if all had had the mean of the work.
  even.note(samples, same, when);
  CHECK(even.seconds(1, 3) == doctest::Approx(4 * 3.5));
}

TEST_CASE("updates and sums of gradients are what is left when the last has come to them") {
  const program of = compile(one_f_one_b::write({.stages = 2, .microbatches = parts}));
  const program_samples samples(of, {sample_split{12, parts, 1, 1, {}}});
  place_clock clock(samples, list<stage_cost>(2, stage_cost{1, 1, 1}));
  cost_table costs;
  for (int s = 0; s < 2; ++s) costs.stages.push({1, 1, 1});
  costs.update = 2.5;
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  clock.note(samples, list<double>(parts, 1.0), when);
  CHECK(clock.costs(samples, list<double>(parts, 1.0)).updates[0] == doctest::Approx(2.5));
}
