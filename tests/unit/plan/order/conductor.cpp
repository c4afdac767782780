// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/conductor.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr pipeline_shape shape{.stages = 3, .microbatches = 6};
// A sample for each microbatch, which brings so much.
step_headers bringing(const list<double>& work) {
  step_headers of;
  of.samples = static_cast<std::int32_t>(work.size());
  of.modules.push("talk");
  of.rows = of.work = work;
  return of;
}
// Three scores of one cast, on places that take as much for forward as for each half of backward.
struct three {
  program all[3] = {compile(one_f_one_b::write(shape)), compile(gpipe::write(shape)),
                    compile(zb_h1::write(shape))};
  cast_scores scores{{&all[0], &all[1], &all[2]},
                     {sample_split{.samples = 6, .groups = 6}},
                     false,
                     list<stage_cost>(3, stage_cost{1, 1, 1})};
};

}  // namespace

TEST_CASE("a step takes what the simulation of its score says, with the work of its samples") {
  const three of;
  REQUIRE(of.scores.size() == 3);
  CHECK(!of.scores.measured());
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  // Six microbatches of three units, and two fills of the pipeline; zero-bubble fills a third less.
  CHECK(of.scores.seconds(0, even) == doctest::Approx(24));
  CHECK(of.scores.seconds(1, even) == doctest::Approx(24));
  CHECK(of.scores.seconds(2, even) == doctest::Approx(20));
  const step_headers skewed = bringing({4, 1, 1, 1, 1, 1});
  for (std::int32_t k = 0; k < 3; ++k) CHECK(of.scores.seconds(k, skewed) > of.scores.seconds(k, even));
}

TEST_CASE("the identity plays the plan's own score") {
  const three of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  for (const std::int32_t playing : {0, 1, 2}) CHECK(as_planned()({of.scores, even, playing}) == 0);
}

TEST_CASE("another score takes its turn where it is shorter by more than the margin") {
  const three of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  CHECK(shortest_by_simulation{.margin = 0.1}({of.scores, even, 0}) == 2);
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 0}) == 0);
  // As long is not shorter.
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 1}) == 1);
  CHECK(shortest_by_simulation{.margin = 0}({of.scores, even, 2}) == 2);
}

TEST_CASE("a recorded step of one score tells what all take") {
  three of;
  const step_headers skewed = bringing({4, 1, 2, 1, 1, 3});
  timeline when;
  // Places are twice, three and four times as slow as was counted.
  cost_table slow;
  for (const double each : {2.0, 3.0, 4.0}) slow.stages.push({each, each, each});
  slow.joins.resize(of.all[1].joins, 0.0);
  slow.updates.resize(3, 0.0);
  slow.reductions.resize(3, 0.0);
  slow.scale.resize(of.all[1].cells(), 0.0);
  const voice& sings = of.all[1].voices[0];
  for (std::int32_t s = 0; s < 3; ++s)
    for (std::int32_t m = 0; m < 6; ++m) slow.scale[sings.cell(s, m)] = skewed.work_of(0, m);
  REQUIRE(simulate(of.all[1], slow, when).ok());
  of.scores.note(1, skewed, when);
  CHECK(of.scores.measured());
  for (std::int32_t k = 0; k < 3; ++k) {
    timeline wanted;
    REQUIRE(simulate(of.all[k], slow, wanted).ok());
    CHECK(of.scores.seconds(k, skewed) == doctest::Approx(wanted.makespan).epsilon(0.02));
  }
}

TEST_CASE("what a run's conductor did is told by score, and of measured steps what it gained") {
  conduct_sums all;
  CHECK(all.gained() == 1);
  all.add({.score = 0, .planned_seconds = 500, .seconds = 100, .search_seconds = 0.5, .waited_seconds = 0.5});
  all.add({.score = 2, .changed = true, .planned_seconds = 3, .seconds = 2, .measured = true});
  all.add({.score = 2, .planned_seconds = 2, .seconds = 2, .measured = true, .search_seconds = 0.25});
  CHECK(all.steps == 3);
  CHECK(all.measured == 2);
  CHECK(all.changes == 1);
  CHECK(all.played == list<motet::isize>{1, 0, 2});
  CHECK(all.gained() == 1.25);
  CHECK(all.search_seconds == 0.75);
  CHECK(all.waited_seconds == 0.5);
  CHECK(conduct_told{}.gained() == 1);
}
