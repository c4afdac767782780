// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/write/greedy.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr greedy_habits all_habits[] = {{},     {false, false, true}, {false, true}, {false, true, true},
                                        {true}, {true, false, true},  {true, true},  {true, true, true}};

// The most that a rank keeps at once.
int peak_of(const score& of, int rank) {
  int live = 0, peak = 0;
  for (int i = of.begin_of(rank); i < of.end_of(rank); ++i) {
    live += live_change(of[i].what);
    peak = std::max(peak, live);
  }
  return peak;
}

// A device of a row waits only where nothing that it could do is there: no input part at all, no forward
// while there is room. (In turn it may wait.)
void check_busy(const score& of, const list<step_times>& times, const list<int>& room) {
  const program made = compile(of, {.update = false});
  cost_table costs;
  for (const step_times& own : times)
    costs.stages.push({double(own.forward), double(own.backward_input), double(own.backward_weight)});
  costs.wires.inside.latency = times[0].transfer;
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  const voice& sings = made.voices[0];
  const auto known = static_cast<std::size_t>(sings.stages * sings.microbatches);
  std::vector<double> forwards(known), backwards(known);
  for (motet::isize i = 0; i < made.instructions.size(); ++i) {
    const instruction& it = made.instructions[i];
    if (it.what == op::forward)
      forwards[static_cast<std::size_t>(sings.cell(it.stage, it.microbatch))] = when.finish[i];
    if (it.what == op::backward_input)
      backwards[static_cast<std::size_t>(sings.cell(it.stage, it.microbatch))] = when.finish[i];
  }
  const auto there = [&](const cue& it) {
    const auto cell = static_cast<std::size_t>(sings.cell(it.stage, it.microbatch)),
               row = static_cast<std::size_t>(sings.microbatches);
    if (is_forward(it.what)) return it.stage == 0 ? 0 : forwards[cell - row] + times[0].transfer;
    return it.stage + 1 == sings.stages ? forwards[cell] : backwards[cell + row] + times[0].transfer;
  };
  int gaps = 0;
  for (int r = 0; r < of.ranks(); ++r) {
    double now = 0;
    int live = 0;
    for (int i = of.begin_of(r); i < of.end_of(r); ++i) {
      const cue next = of[i];
      const double begins = next.what == op::backward_weight ? now : std::max(now, there(next));
      if (begins > now) {
        ++gaps;
        for (int later = i; later < of.end_of(r); ++later) {
          if (of[later].what == op::backward_weight || (is_forward(of[later].what) && live == room[r]))
            continue;
          CHECK_MESSAGE(there(of[later]) >= begins,
                        "rank " << r << " waits from " << now << " to " << begins);
        }
      }
      const step_times& own = times[r];
      now = begins + (is_forward(next.what)             ? own.forward
                      : next.what == op::backward_input ? own.backward_input
                                                        : own.backward_weight);
      live += live_change(next.what);
    }
  }
  CHECK(gaps > 0);
}

}  // namespace

TEST_CASE("no device waits while there is something to do") {
  const pipeline_shape shape{.stages = 4, .microbatches = 10};
  const list<int> room{4, 2, 5, 1};
  const list<step_times> times{{10, 12, 8, 1}, {7, 9, 4, 1}, {12, 3, 30, 1}, {5, 5, 5, 1}};
  check_busy(write_greedy(shape, 1, times, room, {}), times, room);
}

TEST_CASE("every habit is legal and keeps to its room, whatever the times") {
  laws::dice draw(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int chunks = draw.between(1, 2);
    const pipeline_shape shape{.stages = draw.between(1, 6), .microbatches = draw.between(1, 12)};
    list<step_times> times;
    list<int> room;
    for (int d = 0; d < shape.stages; ++d) {
      times.push({draw.below(9), draw.below(9), draw.below(9), draw.below(4)});
      room.push(draw.between(chunks, 2 * shape.stages));
    }
    for (const greedy_habits& each : all_habits) {
      const score written = write_greedy(shape, chunks, times, room, each);
      REQUIRE(prove(written).ok());
      for (int r = 0; r < shape.stages; ++r) CHECK(peak_of(written, r) <= room[r]);
    }
  }
}

TEST_CASE("in turn a backward waits for the forward after another") {
  const list<step_times> times(3);
  const list<int> room(3, 6);
  const pipeline_shape shape{.stages = 3, .microbatches = 6};
  const score in_turn = write_greedy(shape, 2, times, room, {.in_turn = true});
  for (int r = 0; r < 3; ++r) {
    int forwards = 0;
    bool before = false;  // an input part, and no forward or weight part since
    for (int i = in_turn.begin_of(r); i < in_turn.end_of(r); ++i) {
      forwards += in_turn[i].what == op::forward;
      if (in_turn[i].what == op::backward_input && before) CHECK(forwards == 12);
      before = in_turn[i].what == op::backward_input;
    }
  }
}

TEST_CASE("the shortest of all habits is as long as measure says") {
  const pipeline_shape shape{.stages = 4, .microbatches = 12};
  const list<step_times> times(4, {10, 12, 8, 1});
  const list<int> room(4, 5);
  shortest_score best;
  offer_greedy(best, shape, 1, times, room);
  for (const greedy_habits& each : all_habits)
    CHECK_FALSE(measure(write_greedy(shape, 1, times, room, each), times) < best.length);
  CHECK_FALSE(measure(best.order, times) < best.length);
}

TEST_CASE("times of transfers are heeded, or left out") {
  const list<step_times> times(8, {10, 12, 8, 2});
  const pipeline_shape shape{.stages = 8, .microbatches = 24};
  const auto idle = [&](greedy_habits habits) {
    return measure(write_greedy(shape, 2, times, list<int>(8, 16), habits), times).longest_device -
           2 * 24 * (10 + 12 + 8);
  };
  CHECK(idle({.in_turn = true}) == 286);
  CHECK(idle({.in_turn = true, .blind = true}) == 216);
  CHECK(write_greedy(shape, 2, times, list<int>(8, 16), {.in_turn = true, .blind = true}) ==
        write_greedy(shape, 2, list<step_times>(8, {10, 12, 8, 0}), list<int>(8, 16), {.in_turn = true}));
}
