// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/graph.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("lists are sorted into lanes, each in its order") {
  program of;
  for (const int each : {0, 4, 0, 2, 4, 1, 1, 0}) of.instructions.push({op::forward, static_cast<std::uint8_t>(each)});
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
  // Join 0: two groups, on ranks 0 and 1, where two of its three members live on rank 1. Join 1: one group. Modules 0 and 3 have two replicas each.
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
