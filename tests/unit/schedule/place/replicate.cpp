// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;

TEST_CASE("copies on ranks of their own, of the same modules") {
  const score one = one_f_one_b::write({2, 3}), three = replicate(one, 3);
  CHECK(three.ranks() == 6);
  REQUIRE(three.voices().size() == 3);
  for (int r = 0; r < 3; ++r) {
    const voice& of = three.voices()[r];
    CHECK((of.module == 0 && of.replica == r && of.stages == 2 && of.microbatches == 3));
    for (int s = 0; s < 2; ++s) {
      CHECK(three.place(of, s) == 2 * r + s);
      REQUIRE(three.end_of(2 * r + s) - three.begin_of(2 * r + s) == 6);
      for (int i = 0; i < 6; ++i) {
        const cue copy = three[three.begin_of(2 * r + s) + i], from = one[one.begin_of(s) + i];
        CHECK((copy.what == from.what && copy.voice == r && copy.stage == from.stage &&
               copy.microbatch == from.microbatch));
      }
    }
  }
  CHECK(replicate(one, 1) == one);
  CHECK(prove(three).ok());
}

TEST_CASE("each stage's gradient is summed once, over all copies, before any of them is updated") {
  const program of = compile(replicate(one_f_one_b::write({2, 3}), 3));
  REQUIRE(check(of).ok());
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  REQUIRE(graph.meeting_sizes == list<std::int32_t>{3, 3});
  int reductions[2] = {};
  for (isize i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (it.what != op::reduce_gradient) continue;
    CHECK(graph.meetings[i] == it.stage);
    CHECK(it.lane == lane::reduce);
    ++reductions[it.stage];
  }
  CHECK((reductions[0] == 3 && reductions[1] == 3));
}

TEST_CASE("towers and their copies meet in one loss") {
  const score one = batch_sync::write({{{2, 4, 2}, {1, 2, 1}}, 2}), two = replicate(one, 2);
  CHECK(prove(two).ok());
  const program of = compile(two);
  REQUIRE(check(of).ok());
  program_graph graph;
  REQUIRE(build_graph(of, delivery::rendezvous, graph).ok());
  CHECK(graph.meeting_sizes[0] == 4);  // two towers, twice
  CHECK(graph.meeting_sizes[1] == 4);
  // Copies of copies count on.
  const score four = replicate(two, 2);
  std::set<int> replicas;
  for (const voice& each : four.voices())
    if (each.module == 0) replicas.insert(each.replica);
  CHECK(replicas == std::set<int>{0, 1, 2, 3});
  CHECK(prove(four).ok());
  CHECK(check(compile(four)).ok());
}

TEST_CASE("pairs stay pairs, and copies take as long as one") {
  const score from = laws::overlapped::write({3, 5});
  const double one = laws::rehearse(from, {}).when.makespan,
               four = laws::rehearse(replicate(from, 4), {}).when.makespan;
  CHECK(one == four);
  CHECK(check(compile(replicate(from, 4))).ok());
}
