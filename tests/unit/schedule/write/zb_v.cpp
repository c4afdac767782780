// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zb_v.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

using namespace motet;

static_assert(proven_by_compiler<zb_v, pipeline_shape{4, 8}>);
static_assert(proven<zb_v, pipeline_shape{.stages = 4, .microbatches = 8, .memory = 1}>);
static_assert(
    proven_by_compiler<tuned<zb_v, step_times{.forward = 10, .backward_input = 12, .backward_weight = 8}>,
                       pipeline_shape{4, 8}>);
// This is too much for a compiler, and left to the start of the program.
static_assert(proven<zb_v, pipeline_shape{64, 512}> && !proven_by_compiler<zb_v, pipeline_shape{64, 512}>);

namespace {

// The bubble is what is beyond the work of the busiest device, in times of a chunk: idle from its first
// computation to its last, and of the whole makespan.
score_length bubble(const score& of, int stages, int microbatches, const step_times& each = {}) {
  const score_length found = measure(of, list<step_times>(stages, each));
  const motet::isize busy =
      motet::isize{2} * microbatches * (each.forward + each.backward_input + each.backward_weight);
  return {found.longest_device - busy, found.makespan - busy};
}
double peak(const score& of) {
  const program made = compile(of);
  const cost_table costs = even_costs(made, {});
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  double most = 0;
  for (const double each : analyse(made, costs, when).peak_live) most = std::max(most, each);
  return most;
}

}  // namespace

TEST_CASE("laws") {
  for (int stages = 1; stages <= 5; ++stages)
    for (const int microbatches : {1, stages, 2 * stages + 1}) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      laws::check_schedule<zb_v>({.stages = stages, .microbatches = microbatches}, 3,
                                 [&](int) { return 2 * stages; });
    }
  laws::check_schedule<zb_v>({.stages = 4, .microbatches = 9, .chunks = 2, .memory = 1}, 4,
                             [](int) { return 2; });
}

TEST_CASE("the order itself") {
  const score written = zb_v::write({.stages = 2, .microbatches = 4});
  std::string text;
  for (int i = written.begin_of(0); i < written.end_of(0); ++i) {
    const cue it = written[i];
    text += "FIW"[it.what == op::forward ? 0 : it.what == op::backward_input ? 1 : 2];
    text += std::to_string(it.microbatch) + (it.stage == 0 ? "" : "'") + " ";
  }
  CHECK(text == "F0 F1 F2 F0' I0' W0' F1' I1' W1' F3 I0 W0 F2' I2' W2' I1 W1 F3' I3' I2 W3' I3 W2 W3 ");
}

TEST_CASE("no bubble and no more memory than 1F1B when the three parts take equal time") {
  for (int stages = 1; stages <= 8; ++stages)
    for (int microbatches = 1; microbatches <= 4 * stages; ++microbatches) {
      CAPTURE(stages);
      CAPTURE(microbatches);
      const score written = zb_v::write({.stages = stages, .microbatches = microbatches});
      REQUIRE(prove(written).ok());
      CHECK(peak(written) <= stages);
      const score_length idle = bubble(written, stages, microbatches);
      if (microbatches < 2 * stages - 1) continue;
      CHECK(idle.longest_device == 0);
      CHECK(idle.makespan == stages - 1);  // the last device begins so much later
    }
}

// Times are tenths of a chunk's forward. The public scheduler reaches 48, 16, 7 and 130 as well, and 128
// where this one has 132.
TEST_CASE("unequal times") {
  const auto idle = [](int stages, int microbatches, step_times each) {
    const score written = zb_v::write({.stages = stages, .microbatches = microbatches}, each);
    CHECK(peak(written) <= stages);
    return bubble(written, stages, microbatches, each).longest_device;
  };
  CHECK(idle(8, 24, {10, 12, 8}) == 48);
  CHECK(idle(4, 12, {10, 12, 8}) == 16);
  CHECK(idle(8, 24, {10, 9, 11}) == 7);
  CHECK(idle(8, 24, {10, 20, 10}) == 130);
  CHECK(idle(8, 24, {10, 12, 8, 1}) == 132);
  CHECK(idle(8, 24, {10, 12, 8, 2}) == 216);
  CHECK(idle(8, 24, {10, 9, 11, 2}) == 146);
}

TEST_CASE("tuned to its times, it is never longer than the plain order") {
  for (const step_times each :
       {step_times{10, 12, 8, 0}, {10, 9, 11, 1}, {5, 20, 5, 3}, {10, 10, 0, 0}, {0, 1, 1, 0}, {1, 1, 1, 4}})
    for (const int stages : {2, 3, 6})
      for (const int microbatches : {2, 7, 18}) {
        const pipeline_shape shape{.stages = stages, .microbatches = microbatches};
        CHECK_FALSE(bubble(zb_v::write(shape), stages, microbatches, each) <
                    bubble(zb_v::write(shape, each), stages, microbatches, each));
      }
}

TEST_CASE("within less memory") {
  motet::isize before = motet::isize{1} << 40;
  for (int memory = 1; memory <= 10; ++memory) {
    CAPTURE(memory);
    const pipeline_shape shape{.stages = 8, .microbatches = 20, .memory = memory};
    REQUIRE(zb_v::check(shape).ok());
    const score written = zb_v::write(shape);
    CHECK(prove(written).ok());
    CHECK(peak(written) <= memory);
    const motet::isize idle = bubble(written, 8, 20).longest_device;
    CHECK(idle <= before);
    before = idle;
    if (memory >= v_min::keeps(shape)) CHECK(idle <= bubble(v_min::write(shape), 8, 20).longest_device);
    if (memory >= v_half::keeps(shape)) CHECK(idle <= bubble(v_half::write(shape), 8, 20).longest_device);
  }
  CHECK(before == 0);
}

TEST_CASE("numbers that do not fit") {
  CHECK(zb_v::check({.stages = 4, .microbatches = 8, .chunks = 1}).why == reason::chunks_are_fixed);
  CHECK(zb_v::check({.stages = 4, .microbatches = 8, .memory = -1}).why == reason::too_little_memory);
  CHECK(zb_v::check({.stages = 4, .microbatches = 0}).why == reason::no_stages);
}
