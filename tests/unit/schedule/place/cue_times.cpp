// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/cue_times.hpp>

#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace motet;

namespace {

// The times of a simulation in which messages take no time; false: the order is refused anyway.
bool check_times(const score& order) {
  if (!prove(order).ok()) return false;
  const program of = compile(order, {messages::in_channels, false});
  timeline when;
  REQUIRE(simulate(of, even_costs(of, {2, 2, 2}, 1), when).ok());
  const cue_times times(order);
  REQUIRE(times.ok());
  motet::isize at = 0;
  for (motet::isize i = 0; i < of.instructions.size(); ++i)
    if (is_compute(of.instructions[i].what)) CHECK_EQ(times[at++], when.start[i]);
  return true;
}
// Modules in a row that cut samples unlike.
through_shape drawn(std::uint64_t seed) {
  const random_stream draw(seed, "through");
  std::uint64_t next = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<std::int32_t>(draw.below(next++, most)); };
  through_shape out;
  out.all_first = below(3) == 0;
  std::int32_t first = 0, rank = 0;
  for (std::int32_t k = 0; k < 3; ++k) {
    const std::int32_t replicas = 1 + below(3), parts = 1 + below(5), stages = 1 + below(2), before = first;
    const bool here = below(2) == 0, learns = k > 0 || below(2) == 0;
    first = static_cast<std::int32_t>(out.modules.size());
    for (std::int32_t r = 0; r < replicas; ++r) {
      through_module made;
      made.module = k;
      made.replica = r;
      made.replicas = replicas;
      made.microbatches = parts;
      made.meets = k == 2;
      made.learns = learns;
      for (std::int32_t s = 0; s < stages; ++s) made.ranks.push(here ? s : rank++);
      for (std::int32_t source = before; k > 0 && source < first; ++source) made.from.push(source);
      out.modules.push(made);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("cues have the times of a simulation, whatever the schedule") {
  all_schedules::each([]<class Schedule>(Schedule) {
    CAPTURE(Schedule::name);
    if constexpr (!std::is_same_v<Schedule, batch_sync>)
      for (const int parts : {3, 6, 8})
        for (const int chunks : {1, 2}) {
          const pipeline_shape shape{.stages = 2, .microbatches = parts, .chunks = chunks};
          if (!Schedule::check(shape).ok()) continue;
          const score one = Schedule::write(shape);
          CHECK(check_times(one));
          check_times(joined(beside(one, one), parts));
        }
  });
  // Losses of groups, and rows that are made again.
  CHECK(check_times(batch_sync::write({{{2, 8, 4, 2}, {1, 8, 4, 0, 1}}, 2})));
  CHECK(check_times(batch_sync::write({{{2, 8, 4, -1}, {3, 8, 4, -1}}, 2})));
}

TEST_CASE("modules that feed one another have them too") {
  int proven = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    CAPTURE(k);
    const through_shape of = drawn(k);
    if (check_through(of).ok()) proven += check_times(write_through(of)) ? 1 : 0;
  }
  CHECK(proven > 100);
}

TEST_CASE("what cannot be played has no times") {
  score out;
  const int one = out.add(voice{}, [](int) { return 0; });
  out.rank();
  out.play(op::backward, one, 0, 0);
  out.play(op::forward, one, 0, 0);
  CHECK_FALSE(cue_times(out).ok());
  score elsewhere;
  elsewhere.add(voice{}, [](int) { return 0; });
  elsewhere.rank();
  elsewhere.play(op::forward, 3, 0, 0);
  CHECK_FALSE(cue_times(elsewhere).ok());
  constexpr double last = [] {
    score made;
    const int only = made.add(voice{}, [](int) { return 0; });
    made.rank();
    made.play(op::forward, only, 0, 0);
    made.play(op::backward, only, 0, 0);
    return cue_times(made)[1];
  }();
  CHECK_EQ(last, 2);
}
