// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/list_player.hpp>
#include <motet/schedule/check/lists.hpp>
#include <motet/schedule/check/play.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/through.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include "broken_programs.hpp"
#include "test_schedules.hpp"

using namespace motet;

namespace {

bool plays_in_lists(const program& of) {
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  return list_player(of, graph).run();
}
bool plays_in_lanes(const program& of, delivery how) {
  program_graph graph;
  REQUIRE(build_graph(of, how, graph).ok());
  no_clock clock;
  return program_player<no_clock>(of, graph, clock).run();
}
// Two eyes, of one microbatch each and of two, feed a language model in two stages.
program graph_of_modules() {
  through_shape of;
  of.modules.push({.ranks = {0}, .microbatches = 2});
  of.modules.push({.ranks = {1}, .microbatches = 4});
  of.modules.push({.ranks = {1, 2}, .from = {0, 1}, .meets = true, .microbatches = 2});
  return compile(write_through(of));
}
program drawn(int which, laws::dice& draw) {
  const pipeline_shape p{draw.between(1, 4), draw.between(1, 5)};
  switch (which % 6) {
    case 0: return compile(one_f_one_b::write(p));
    case 1: return compile(interleaved::write({p.stages, p.stages * draw.between(1, 2), 2}));
    case 2: return compile(laws::overlapped::write(p));
    case 3: return compile(batch_sync::write({{{draw.between(1, 3), 4, 2, draw.below(3)}, {2, 2, 1}}, 2}));
    case 4: return graph_of_modules();
    default: return compile(replicate(zb_h1::write({draw.between(1, 2), draw.between(1, 3)}), 2));
  }
}
// A stage on each of two ranks, which meet for two microbatches before they go backward: beside the
// computation, at the second meeting at the latest.
score meets_beside(bool aside) {
  score order;
  for (int k = 0; k < 2; ++k) {
    voice made;
    made.module = k;
    made.microbatches = 2;
    made.join = 0;
    order.add(made, [k](int) { return k; });
  }
  for (int k = 0; k < 2; ++k) {
    order.rank();
    order.play(op::forward, k, 0, 0);
    order.join(0, 0, aside);
    order.play(op::forward, k, 0, 1);
    order.join(0, 1, aside);
    for (const int m : {1, 0}) order.play(op::backward, k, 0, m);
  }
  return order;
}

}  // namespace

TEST_CASE("what is compiled with lanes enough plays as its score does") {
  laws::dice draw(3);
  for (int k = 0; k < 60; ++k) CHECK(plays_in_lists(drawn(k, draw)));
  for (const bool aside : {false, true}) CHECK(plays_in_lists(compile(meets_beside(aside))));
  CHECK(plays_in_lists(compile(meets_beside(true), {.update = false, .reduce = false})));
}

TEST_CASE("receives of several ranks in one lane, or behind a computation, are for lanes to play") {
  const score order = one_f_one_b::write({4, 8});
  const program one_lane = compile(order, {messages::in_one_lane}),
                one_queue = compile(order, {messages::in_compute});
  CHECK_FALSE(plays_in_lists(one_lane));
  CHECK_FALSE(plays_in_lists(one_queue));
  CHECK(plays_in_lanes(one_queue, delivery::buffered));
  CHECK_FALSE(plays_in_lanes(one_queue, delivery::rendezvous));
}

TEST_CASE("receives in another order than their sends") {
  program of = compile(one_f_one_b::write({2, 3}));
  CHECK(plays_in_lists(of));
  // Rank 1 receives its three microbatches before it computes, the second one first.
  std::vector<std::int32_t> receives;
  for (std::int32_t i = of.starts[1]; i < of.starts[2]; ++i)
    if (of.instructions[i].what == op::receive_forward) receives.push_back(i);
  REQUIRE(receives.size() == 3);
  const instruction second = of.instructions[receives[1]];
  laws::remove(of, receives[1]);
  laws::insert(of, 1, of.starts[1], second);
  CHECK_FALSE(plays_in_lists(of));
  CHECK(plays_in_lanes(of, delivery::buffered));
  CHECK_FALSE(plays_in_lanes(of, delivery::rendezvous));
}

TEST_CASE("a rank waits for what it left beside, and others for it") {
  // The ranks come to their meetings in opposite orders, and a computation waits for each.
  for (const bool alike : {false, true}) {
    score order;
    for (int k = 0; k < 4; ++k) {
      voice made;
      made.module = k;
      made.join = k / 2;
      order.add(made, [k](int) { return k % 2; });
    }
    order.rank();
    for (const int v : {0, 2}) order.play(op::forward, v, 0, 0);
    for (const int j : {0, 1}) order.join(j, 0, true);
    for (const int v : {0, 2}) order.play(op::backward, v, 0, 0);
    order.rank();
    for (const int v : {1, 3}) order.play(op::forward, v, 0, 0);
    for (const int j : {0, 1}) order.join(alike ? j : 1 - j, 0, true);
    for (const int v : {1, 3}) order.play(op::backward, v, 0, 0);
    const program of = compile(order);
    CHECK(plays_in_lists(of) == alike);
    CHECK(plays_in_lanes(of, delivery::buffered) == alike);
  }
}

TEST_CASE("what plays in lists plays in lanes, by either delivery") {
  laws::dice draw(9);
  int read = 0, in_lists = 0, in_lanes = 0;
  for (int k = 0; k < 3000; ++k) {
    program of = drawn(k, draw);
    const laws::damage kinds[] = {laws::damage::swapped, laws::damage::lane, laws::damage::moved};
    for (int times = draw.between(1, 2); times-- > 0;) of = laws::break_program(of, kinds[k / 6 % 3], draw);
    program_graph graph;
    if (!build_graph(of, delivery::buffered, graph).ok()) continue;
    ++read;
    const bool runs = plays_in_lanes(of, delivery::rendezvous);
    in_lanes += runs ? 1 : 0;
    if (!plays_in_lists(of)) continue;
    ++in_lists;
    CHECK(runs);
    CHECK(plays_in_lanes(of, delivery::buffered));
  }
  MESSAGE(read << " read, " << in_lanes << " play in lanes, " << in_lists << " in lists");
  CHECK(in_lists > 300);
  CHECK(in_lanes > in_lists);
}
