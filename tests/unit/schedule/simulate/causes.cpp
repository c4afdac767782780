// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/simulate/causes.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// As a measured timeline comes: times alone.
timeline forgotten(const timeline& from) {
  timeline made;
  made.start = from.start;
  made.finish = from.finish;
  return made;
}
timeline found_again(const program& of, const timeline& from) {
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  timeline made = forgotten(from);
  find_causes(of, graph, made);
  return made;
}

}  // namespace

TEST_CASE("a simulated timeline gets the causes back that it had") {
  list<program> all;
  all.push(compile(one_f_one_b::write({4, 8})));
  all.push(compile(interleaved::write({3, 6})));
  all.push(compile(zb_h2::write({3, 7})));
  all.push(compile(batch_sync::write({{{4, 8, 4, 2}, {2, 4, 2, 0, 1}}, 2})));
  for (const program& of : all) {
    cost_table costs = even_costs(of, {1, 1.25, 0.75}, 0.5);
    costs.jitter = 0.9;  // so that no two times are equal by chance
    timeline when;
    REQUIRE(simulate(of, costs, when).ok());
    const timeline found = found_again(of, when);
    CHECK(found.makespan == when.makespan);
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      CAPTURE(i);
      // Among several that ended at one time (a send takes none), any is the cause.
      REQUIRE((found.after[i] < 0) == (when.after[i] < 0));
      if (when.after[i] >= 0) CHECK(found.finish[found.after[i]] == when.finish[when.after[i]]);
    }
    // So what is read from it is the same.
    const analysis a = analyse(of, costs, when), b = analyse(of, costs, found);
    CHECK(a.bubble_rate == b.bubble_rate);
    for (motet::isize r = 0; r < a.ranks.size(); ++r)
      CHECK(a.ranks[r].idle_inside() == doctest::Approx(b.ranks[r].idle_inside()));
    CHECK(b.critical_path.size() > 0);
    CHECK(when.start[b.critical_path[0]] == 0);
  }
}

TEST_CASE("what came last is the cause") {
  // Two ranks, one microbatch: forward 0, its message, forward 1, backward 1, its message, backward 0,
  // updates.
  const program of = compile(one_f_one_b::write({2, 1}));
  timeline when;
  REQUIRE(simulate(of, even_costs(of, {1, 1, 1}), when).ok());
  std::int32_t receive = -1, forward = -1;
  for (std::int32_t i = of.starts[1]; i < of.starts[2]; ++i) {
    if (of.instructions[i].what == op::receive_forward) receive = i;
    if (of.instructions[i].what == op::forward) forward = i;
  }
  const timeline found = found_again(of, when);
  CHECK(found.after[forward] == receive);
  CHECK(of.instructions[found.after[receive]].what == op::send_forward);
  CHECK(found.after[of.starts[0]] == -1);
}

TEST_CASE("an empty program has no causes") {
  timeline when;
  program_graph graph;
  when.makespan = 3;
  const program none;
  REQUIRE(build_graph(none, delivery::buffered, graph).ok());
  find_causes(none, graph, when);
  CHECK(when.makespan == 0);
  CHECK(when.after.empty());
}
