// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/times_of_steps.hpp>

#include "support/counted_plan.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr machine_rates rates{0.25e9, 1e10};
// A FLOP of any kind took four nanoseconds.
void check_pace(const counted_seconds& found) {
  CHECK(found.forward == doctest::Approx(4e-9));
  CHECK(found.input == doctest::Approx(4e-9));
  CHECK(found.weight == doctest::Approx(4e-9));
}
list<module_times> seen_in(const counted_plan& from, const list<timeline>& steps) {
  const std::vector<program_work> works(as_size(steps.size()), from.work);
  return times_of_steps(from.of, from.from, counted_modules(), steps, works, 1);
}

}  // namespace

TEST_CASE("steps of known times say what a FLOP took, and an update") {
  for (const bool remade : {false, true})
    for (const char* schedule : {"gpipe", "1f1b"}) {
      CAPTURE(schedule);
      module_plan picture = on_ranks("picture", 0, {.stages = 2}, 4);
      if (remade) picture.remade.resize(2, 1);
      const counted_plan from = count_plan(picture, on_ranks("caption", 4, {}, 4));
      const list<module_times> found = seen_in(from, {from.played(from.work.costs(from.of, rates))});
      REQUIRE(found.size() == 2);
      CHECK(found[0].module == "picture");
      CHECK((found[0].layers == 4 && found[0].work == 3e6 && found[0].tensor == 1 && found[0].threads == 1));
      REQUIRE(found[0].points.size() == 1);
      const times_point& point = found[0].points[0];
      CHECK(point.flops.forward == doctest::Approx(forward_flops_of(from.of, 0, from.work)));
      CHECK(point.flops.forward == doctest::Approx(3e6 * 3 / 4));
      CHECK(point.flops.input == doctest::Approx(1.25 * point.flops.forward));
      check_pace(point.pace());
      check_pace(found[1].points[0].pace());
      CHECK(found[1].update == doctest::Approx(28 / 1e10));
    }
}

TEST_CASE("waits for others of a group are no part of it, and of several steps the median counts") {
  const counted_plan from =
      count_plan(on_ranks("picture", 0, degrees{.tensor = 2}), on_ranks("caption", 4, {}));
  const cost_table truth = from.work.costs(from.of, rates);
  timeline step = from.played(truth);
  for (std::int32_t i = 0; i < from.of.instructions.size(); ++i) {
    const instruction& it = from.of.instructions[i];
    if (it.what == op::join || !is_compute(it.what)) continue;
    const double whole = step.finish[i] - step.start[i],
                 waits = whole * truth.stages[from.of.voices[it.voice].first_place + it.stage].gaps(it.what);
    if (waits > 0) step.gaps.push({i, wait_for::rows, step.start[i], step.start[i] + waits});
  }
  timeline slower = step;
  for (isize i = 0; i < step.start.size(); ++i) slower.start[i] *= 3, slower.finish[i] *= 3;
  for (timeline::gap& each : slower.gaps) each.start *= 3, each.finish *= 3;
  const list<module_times> found = seen_in(from, {step, slower, step});
  CHECK((found[0].tensor == 2 && found[1].tensor == 1));
  check_pace(found[0].points[0].pace());
  CHECK(seen_in(from, {slower})[0].points[0].pace().input == doctest::Approx(12e-9));
  // Replicas that share the optimizer do not say what a number takes.
  counted_plan shared = from;
  shared.from.modules[1].zero = 1;
  CHECK(seen_in(shared, {step})[1].update == 0);
}
