// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/offload.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace motet;

namespace {

constexpr score offloaded(score of, std::int32_t beyond) {
  for (int v = 0; v < of.voices().size(); ++v) of.offload_beyond(v, beyond);
  return of;
}
// Plans that say so are proven where they are compiled.
static_assert(moves_of_rank(offloaded(gpipe::write({1, 3}), 1), 0).size() == 6);
// "F0 F1 O0", of all that keeps, moves or ends on a rank.
std::string moves_of(const program& of, int rank) {
  std::string text;
  for (const instruction& it : of.role(rank)) {
    const char* const name = it.what == op::forward    ? "F"
                             : it.what == op::backward ? "B"
                             : it.what == op::offload  ? "out"
                             : it.what == op::fetch    ? "in"
                                                       : nullptr;
    if (name != nullptr) text += (text.empty() ? "" : " ") + (name + std::to_string(it.microbatch));
  }
  return text;
}
double makespan(const program& of, double copy) {
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.copy = copy;
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  return when.makespan;
}

}  // namespace

TEST_CASE("what is needed last leaves, and comes back a computation ahead where two have room") {
  const auto all_first = [](int beyond) { return compile(offloaded(gpipe::write({1, 5}), beyond)); };
  CHECK(moves_of(all_first(1), 0) ==
        "F0 out0 F1 out1 F2 out2 F3 out3 F4 out4 in0 B0 in1 B1 in2 B2 in3 B3 in4 B4");
  CHECK(moves_of(all_first(3), 0) == "F0 F1 F2 out1 F3 out2 F4 out3 in1 B0 in2 B1 in3 B2 B3 B4");
  CHECK(all_first(5) == [] {
    program stays = compile(gpipe::write({1, 5}));
    stays.voices[0].offload_beyond = 5;
    return stays;
  }());
  CHECK(moves_of(compile(offloaded(one_f_one_b::write({4, 6}), 2)), 3).find("out") == std::string::npos);
}

TEST_CASE("any schedule keeps no more than may stay, or more than that is needed at once") {
  int moves = 0;
  all_schedules::each([&](const auto& plays) {
    for (const int stages : {1, 2, 4})
      for (const int beyond : {1, 2, 3, 4})
        for (const int chunks : {1, 2}) {
          const pipeline_shape shape{.stages = stages, .microbatches = 8, .chunks = chunks};
          if constexpr (requires { plays.check(shape); }) {
            if (!plays.check(shape).ok()) continue;
            const score order = offloaded(plays.write(shape), beyond);
            const program of = compile(order);
            CAPTURE(explain(of, check(of)));
            REQUIRE(check(of, delivery::rendezvous).ok());
            const short_of_room found = find_short_of_room(order);
            const std::int32_t most = *std::max_element(of.slots.begin(), of.slots.end());
            CHECK((found.voice < 0 ? most <= beyond : most > beyond && most >= found.most));
            for (const instruction& each : of.instructions) moves += each.what == op::offload ? 1 : 0;
          }
        }
  });
  CHECK(moves > 1000);
}

TEST_CASE("moves lie beside computations where three have room") {
  const auto takes = [](int beyond) {
    return makespan(compile(offloaded(one_f_one_b::write({6, 12}), beyond)), .5);
  };
  const double all = makespan(compile(one_f_one_b::write({6, 12})), .5);
  CHECK(takes(3) == all);
  CHECK(takes(1) > all);
  // By bytes: 8 that are kept, 16 a second.
  program of = compile(offloaded(gpipe::write({1, 5}), 1));
  cost_table costs = even_costs(of, {1, 1, 1, 8});
  costs.offload_bytes_per_second = 16;
  CHECK(costs.seconds(of, {op::offload, lane::copy, false, 0, 0, 0, 1, -1}) == .5);
}

TEST_CASE("a program without one of its moves is refused") {
  const program good = compile(offloaded(gpipe::write({1, 5}), 2));
  for (const auto& [what, code] : {std::pair{op::fetch, "MT-P35"}, {op::offload, "MT-P32"}}) {
    program of = good;
    list<instruction> rest;
    bool left_out = false;
    for (const instruction& each : of.instructions) {
      const bool leaves = !left_out && each.what == what;
      left_out = left_out || leaves;
      if (!leaves) rest.push(each);
    }
    of.instructions = rest;
    of.starts[1] = static_cast<std::int32_t>(rest.size());
    const check_result found = check(of);
    CHECK(std::string(found.brief().why->code) == code);
  }
  program small = good;
  small.slots[0] = 1;
  CHECK(std::string(check(small).brief().why->code) == "MT-P32");
  score none = gpipe::write({1, 5});
  none.offload_beyond(0, -1);
  CHECK_FALSE(prove(none).ok());
}
