// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/zb_auto.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

using namespace motet;

static_assert(proven_by_compiler<zb_auto, pipeline_shape{4, 8}>);
static_assert(
    proven_by_compiler<
        tuned<zb_auto, step_times{.forward = 10, .backward_input = 12, .backward_weight = 8, .transfer = 1}>,
        pipeline_shape{.stages = 4, .microbatches = 8, .memory = 5}>);
static_assert(proven<zb_auto, pipeline_shape{64, 512}> &&
              !proven_by_compiler<zb_auto, pipeline_shape{64, 512}>);

namespace {

constexpr step_times many_times[] = {{1, 1, 1, 0},   {10, 12, 8, 0},  {10, 9, 11, 0}, {10, 20, 10, 0},
                                     {10, 12, 8, 3}, {10, 10, 10, 5}, {7, 3, 11, 1},  {5, 15, 5, 0},
                                     {10, 10, 0, 0}, {0, 1, 2, 0},    {12, 2, 7, 2}};

int peak_of(const score& of, int rank) {
  int live = 0, peak = 0;
  for (int i = of.begin_of(rank); i < of.end_of(rank); ++i) {
    live += live_change(of[i].what);
    peak = std::max(peak, live);
  }
  return peak;
}
motet::isize busy(int microbatches, const step_times& each) {
  return motet::isize{microbatches} * (each.forward + each.backward_input + each.backward_weight);
}

}  // namespace

TEST_CASE("laws") {
  for (int stages = 1; stages <= 5; ++stages)
    for (const int memory : {0, 1, stages}) {
      CAPTURE(stages);
      CAPTURE(memory);
      laws::check_schedule<zb_auto>({.stages = stages, .microbatches = 2 * stages + 1, .memory = memory}, 5,
                                    [&](int) { return memory > 0 ? memory : 2 * stages - 1; });
    }
}

TEST_CASE("never longer than zb_h1 or zb_h2 with their memory, and never over the limit") {
  for (int stages = 1; stages <= 6; ++stages)
    for (int microbatches = 1; microbatches <= 3 * stages + 1; ++microbatches)
      for (const step_times& each : many_times)
        for (const int memory : {0, 1, (stages + 1) / 2, stages, stages + 1, 2 * stages - 1, 3 * stages}) {
          const pipeline_shape shape{.stages = stages, .microbatches = microbatches, .memory = memory};
          const list<step_times> times(stages, each);
          const score written = zb_auto::write(shape, each);
          REQUIRE(prove(written).ok());
          for (int r = 0; r < stages && memory > 0; ++r) CHECK(peak_of(written, r) <= memory);
          if (memory < stages) continue;
          const score_length found = measure(written, times);
          const score_length wanted =
              measure(memory < 2 * stages - 1 ? zb_h1::write(shape) : zb_h2::write(shape), times);
          CHECK(found.longest_device <= wanted.longest_device);
          CHECK(found.makespan <= wanted.makespan);
        }
}

TEST_CASE("where the fixed order is the best known, it is taken") {
  for (const auto& [microbatches, each] : {std::pair{12, step_times{2, 12, 11, 0}}, {11, {3, 5, 4, 2}}}) {
    const pipeline_shape shape{.stages = 8, .microbatches = microbatches, .memory = 15};
    CHECK(zb_auto::write(shape, each) == zb_h2::write(shape));
  }
}

TEST_CASE("closed forms for equal times, and where it beats them") {
  for (int stages = 1; stages <= 8; ++stages) {
    CAPTURE(stages);
    const auto idle = [&](int memory, step_times each) {
      const pipeline_shape shape{.stages = stages, .microbatches = 3 * stages, .memory = memory};
      return measure(zb_auto::write(shape, each), list<step_times>(stages, each)).longest_device -
             busy(3 * stages, each);
    };
    CHECK(idle(stages, {1, 1, 1}) == stages - 1);  // zb_h1: a third of the bubble of 1F1B
    CHECK(idle(0, {1, 1, 1}) == 0);                // zb_h2
    // A weight part that is longer than the input part hides all of it, which the fixed orders do not manage.
    CHECK(idle(0, {10, 9, 11}) == 0);
    CHECK(idle(stages, {10, 12, 8}) <= (stages - 1) * 14);
    CHECK(idle(0, {10, 12, 8}) <= (stages - 1) * 6);
  }
  // Forwards slow to come back: more memory than zb_h2 takes removes what is idle.
  const step_times slow{10, 20, 10};
  const pipeline_shape shape{.stages = 4, .microbatches = 16},
      tight{.stages = 4, .microbatches = 16, .memory = 7};
  const list<step_times> times(4, slow);
  CHECK(zb_auto::likes(shape, slow) == 10);
  CHECK(measure(zb_auto::write(shape, slow), times).longest_device <
        measure(zb_auto::write(tight, slow), times).longest_device);
}

TEST_CASE("between and beyond the fixed orders") {
  // Idle beyond the computations of the busiest of 8 devices, 24 microbatches. With the memory of zb_h1 it is
  // 98, 182 and 63 in its order.
  const auto idle = [](int memory, step_times each) {
    return measure(zb_auto::write({.stages = 8, .microbatches = 24, .memory = memory}, each),
                   list<step_times>(8, each))
               .longest_device -
           busy(24, each);
  };
  CHECK(idle(10, {10, 12, 8}) == 82);
  CHECK(idle(12, {10, 12, 8}) == 66);
  CHECK(idle(15, {10, 12, 8}) == 42);
  CHECK(idle(10, {10, 12, 8, 3}) == 146);
  CHECK(idle(12, {10, 12, 8, 3}) == 108);
  CHECK(idle(15, {10, 12, 8, 3}) == 84);
  CHECK(idle(10, {10, 9, 11}) == 47);
  CHECK(idle(12, {10, 9, 11}) == 28);
}

TEST_CASE("more memory is used, up to what it likes") {
  const list<step_times> times(6);
  motet::isize before = motet::isize{1} << 40;
  for (int memory = 1; memory <= 11; ++memory) {
    const motet::isize now =
        measure(zb_auto::write({.stages = 6, .microbatches = 18, .memory = memory}), times).longest_device;
    CHECK(now < before);
    before = now;
  }
  CHECK(before == busy(18, {}));
  CHECK(zb_auto::likes({.stages = 6, .microbatches = 18}, {}) == 11);
  // 6 + 5 * 3 = 21 forwards would fit
  CHECK(zb_auto::likes({.stages = 6, .microbatches = 18}, {.transfer = 1}) == 18);
  CHECK(zb_auto::likes({.stages = 6, .microbatches = 30}, {.transfer = 1}) == 21);
  CHECK(zb_auto::likes({.stages = 6, .microbatches = 4}, {}) == 4);
}

TEST_CASE("devices that differ, each with its own limit") {
  const pipeline_shape shape{.stages = 4, .microbatches = 12};
  // frozen weights first, the head last
  const list<step_times> times{{4, 4, 0, 1}, {10, 12, 8, 1}, {10, 12, 8, 1}, {14, 15, 13, 1}};
  const list<int> memory{9, 4, 3, 1};
  const score written = zb_auto::write(shape, times, memory);
  CHECK(prove(written).ok());
  for (int r = 0; r < 4; ++r) CHECK(peak_of(written, r) <= memory[r]);
  // The last device has 12 * 42 to do, from its first forward on: 4 + 10 + 10 and three transfers later.
  const score_length found = measure(written, times);
  CHECK(found.makespan >= 12 * 42 + 24 + 3);
  CHECK(found.makespan <= 12 * 42 + 24 + 3 + 42);
  // With the memory of zb_h1 it is no longer than zb_h1, here too.
  const score_length limit = measure(zb_h1::write(shape), times),
                     fits = measure(zb_auto::write(shape, times, {4, 4, 4, 4}), times);
  CHECK(fits.longest_device <= limit.longest_device);
  CHECK(fits.makespan <= limit.makespan);
}

TEST_CASE("numbers that do not fit") {
  CHECK(zb_auto::check({.stages = 4, .microbatches = 8, .chunks = 2}).why == reason::chunks_are_fixed);
  CHECK(zb_auto::check({.stages = 4, .microbatches = 8, .memory = -1}).why == reason::too_little_memory);
  CHECK(zb_auto::check({.stages = 0, .microbatches = 8}).why == reason::no_stages);
}
