// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/graph.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("lists are sorted into lanes, each in its order") {
  program of;
  for (const int each : {0, 4, 0, 2, 4, 1, 1, 0})
    of.instructions.push({op::forward, static_cast<std::uint8_t>(each)});
  of.starts = {0, 5, 5, 8};
  program_graph graph;
  detail::put_lanes(of, graph);
  CHECK(graph.order == list<std::int32_t>{0, 2, 3, 1, 4, 7, 5, 6});
  CHECK(graph.lane_starts == list<std::int32_t>{0, 2, 3, 5, 6, 8});
  CHECK(graph.lane_ranks == list<std::int32_t>{0, 0, 0, 2, 2});
}

TEST_CASE("the lanes of one rank do not leak into the next") {
  program of;
  of.instructions = {{op::forward, 255}, {op::forward, 3}, {op::forward, 255}};
  of.starts = {0, 1, 3};
  program_graph graph;
  detail::put_lanes(of, graph);
  CHECK(graph.order == list<std::int32_t>{0, 1, 2});
  CHECK(graph.lane_starts == list<std::int32_t>{0, 1, 2, 3});
  CHECK(graph.lane_ranks == list<std::int32_t>{0, 1, 1});
}

namespace {
voice member(int module, int join, int microbatches, int group, int place) {
  voice made;
  made.module = module;
  made.join = join;
  made.microbatches = microbatches;
  made.group = group;
  made.first_place = place;
  return made;
}
}  // namespace

TEST_CASE("meetings: joins first, then reductions") {
  program of;
  // Join 0: two groups, on ranks 0 and 1, where two of its three members live on rank 1. Join 1: one group.
  // Modules 0 and 3 have two replicas each.
  of.voices = {member(0, 0, 4, 2, 0), member(1, 0, 2, 1, 1),  member(2, 0, 2, 1, 2),
               member(0, 1, 4, 4, 3), member(3, -1, 1, 1, 4), member(3, -1, 1, 1, 5)};
  of.places = {0, 1, 1, 0, 1, 0};
  of.joins = 2;
  program_graph graph;
  CHECK(detail::put_meetings(of, graph).ok());
  CHECK(graph.first_meetings == list<std::int32_t>{0, 2, 3});
  CHECK(graph.meeting_sizes == list<std::int32_t>{2, 2, 1, 2, 2});
  CHECK(graph.reductions == list<std::int32_t>{3, -1, -1, 4, -1, -1});
}

TEST_CASE("members of a join need equally many groups") {
  program of;
  of.voices = {member(0, 0, 4, 2, 0), member(1, 0, 4, 1, 1)};
  of.places = {0, 1};
  of.joins = 1;
  program_graph graph;
  const finding found = detail::put_meetings(of, graph);
  CHECK((found.why == reason::joins_differ && found.got == 4 && found.wanted == 2));
}

namespace {
// Two shards of a stage on ranks of their own; the second one plays its microbatches in the given order.
program sharded(std::initializer_list<int> order, bool paired = false) {
  score out;
  for (int k = 0; k < 2; ++k) {
    voice made;
    made.shard = k;
    made.shards = 2;
    made.microbatches = 2;
    out.add(made, [k](int) { return k; });
  }
  for (int k = 0; k < 2; ++k) {
    out.rank();
    const auto all = [&](op what) {
      if (k == 0)
        for (int m = 0; m < 2; ++m) out.play(what, 0, 0, m);
      else
        for (const int m : order) out.play(what, 1, 0, m);
    };
    all(op::forward);
    if (paired) out.pair_with_next();
    all(op::backward);
  }
  return compile(out);
}
}  // namespace

TEST_CASE("shards meet in every computation, behind all other meetings") {
  const program of = sharded({0, 1});
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  CHECK(graph.computations == 1);  // the sum of the stage's gradients comes before
  CHECK(graph.together == list<std::int32_t>{1, 1});
  for (int i = 0; i < 4; ++i) {
    CHECK(graph.meetings[i] == graph.meetings[of.starts[1] + i]);
    CHECK(graph.meeting_sizes[graph.meetings[i]] == 2);
    for (int j = 0; j < i; ++j) CHECK(graph.meetings[j] != graph.meetings[i]);
  }
  CHECK(check(of).ok());
  // The slower one holds the other up.
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.stages[1].forward = 5;
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  CHECK(when.finish[0] == 5);
  CHECK(when.makespan == 2 * 5 + 2 * 2);
}

TEST_CASE("shards in different orders would wait for ever, and nothing of theirs overlaps") {
  const check_result found = check(sharded({1, 0}));
  CHECK(found.found.why == reason::deadlock);
  CHECK(found.cycle.size() == 2);
  CHECK(check(sharded({0, 1}, true)).found.why == reason::bad_pair);
}

TEST_CASE("shards of one replica stand one behind the other, and agree") {
  const auto refused = [](auto&& change) {
    program of = sharded({0, 1});
    change(of);
    return check_structure(of).why == reason::bad_structure;
  };
  CHECK(!refused([](program&) {}));
  CHECK(refused([](program& p) {
    p.voices[1].shard = 0;
    p.voices[0].shard = 1;
  }));
  CHECK(refused([](program& p) { p.voices[1].shard = 2; }));
  CHECK(refused([](program& p) {
    p.voices[0].shards = 3;
    p.voices[1].shards = 3;
  }));
  CHECK(refused([](program& p) { p.voices[1].replica = 1; }));
  CHECK(refused([](program& p) {
    p.voices[1].shards = 1;
    p.voices[1].shard = 0;
  }));
}
