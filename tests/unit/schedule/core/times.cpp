// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/times.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zb_v.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {

// The simulator says this, in the unit of measure().
score_length simulated(const score& of, const list<step_times>& times) {
  const program made = compile(of);
  const double chunks = made.voices[0].chunks;
  cost_table costs;
  for (const std::int32_t rank : made.places) {
    const step_times& own = times[rank];
    costs.stages.push({own.forward / chunks, own.backward_input / chunks, own.backward_weight / chunks});
  }
  costs.wires.inside.latency = times[0].transfer;
  timeline when;
  REQUIRE(simulate(made, costs, when).ok());
  double longest = 0;
  for (const rank_time& own : analyse(made, costs, when).ranks)
    longest = std::max(longest, when.makespan - own.warm_up - own.cool_down);
  return {static_cast<motet::isize>(longest * chunks + .5),
          static_cast<motet::isize>(when.makespan * chunks + .5)};
}

template <class... Schedules>
void compare(const list<step_times>& times, int microbatches) {
  const pipeline_shape shape{.stages = static_cast<int>(times.size()), .microbatches = microbatches};
  const auto one = [&](auto schedule) {
    const score written = decltype(schedule)::write(shape);
    const score_length got = measure(written, times), wanted = simulated(written, times);
    CAPTURE(schedule.name);
    CHECK(got.longest_device == wanted.longest_device);
    CHECK(got.makespan == wanted.makespan);
  };
  (one(Schedules{}), ...);
}

}  // namespace

TEST_CASE("one microbatch there and back") {
  const list<step_times> times{{5, 7, 11, 2}, {3, 4, 6, 2}};
  const score_length found = measure(one_f_one_b::write({.stages = 2, .microbatches = 1}), times);
  // 5 and a transfer to the second device, 3 and both parts of 4 + 6 there, a transfer back, both parts of 7
  // + 11.
  CHECK(found.makespan == 5 + 2 + 3 + 10 + 2 + 18);
  CHECK(found.longest_device == found.makespan);
  // The gradient is sent on before its weight part, so it is there earlier.
  CHECK(measure(zb_h1::write({.stages = 2, .microbatches = 1}), times).makespan == 5 + 2 + 3 + 4 + 2 + 18);
}

TEST_CASE("measure and simulate agree, for devices that differ and with transfers") {
  for (const int transfer : {0, 3})
    for (const int microbatches : {1, 4, 12}) {
      compare<gpipe, one_f_one_b, interleaved, zb_h1, zb_h2, zb_v>(list<step_times>(4, {10, 12, 8, transfer}),
                                                                   microbatches == 1 ? 4 : microbatches);
      compare<gpipe, one_f_one_b, zb_h1, zb_h2, zb_v>(
          {{10, 12, 8, transfer}, {4, 20, 0, transfer}, {7, 7, 9, transfer}}, microbatches);
    }
}

TEST_CASE("lengths compare by the longest device, then by the makespan") {
  CHECK(score_length{3, 9} < score_length{4, 1});
  CHECK(score_length{3, 8} < score_length{3, 9});
  CHECK_FALSE(score_length{3, 9} < score_length{3, 9});
}

TEST_CASE("the shortest that was offered stays") {
  const pipeline_shape shape{.stages = 4, .microbatches = 8};
  const list<step_times> times(4);
  shortest_score best;
  best.offer(gpipe::write(shape), times);
  CHECK(best.order == gpipe::write(shape));
  best.offer(zb_h2::write(shape), times);
  CHECK(best.order == zb_h2::write(shape));
  best.offer(zb_h1::write(shape), times);
  CHECK(best.order == zb_h2::write(shape));
  CHECK(best.length.longest_device == 24);
  shortest_score limited;
  limited.most_makespan = 27 - 1;  // of both
  limited.offer(zb_h1::write(shape), times);
  CHECK(limited.order.codes().empty());
}

TEST_CASE("a tuned schedule is one more schedule") {
  constexpr step_times slow_backward{.forward = 1, .backward_input = 2};
  using mine = tuned<zb_v, slow_backward>;
  static_assert(proven<mine, pipeline_shape{4, 8}>);
  const pipeline_shape shape{.stages = 4, .microbatches = 8};
  CHECK(mine::write(shape) == zb_v::write(shape, slow_backward));
  CHECK_FALSE(mine::write(shape) == zb_v::write(shape));
  CHECK(mine::check({.stages = 0}).why == reason::no_stages);
}
