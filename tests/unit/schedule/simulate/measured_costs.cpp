// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/simulate/measured_costs.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/through.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

timeline simulated(const program& of, const cost_table& costs) {
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  return when;
}
// Every stage has times of its own.
cost_table uneven(const program& of, double join = 0) {
  cost_table made = even_costs(of, {}, join);
  for (motet::isize s = 0; s < made.stages.size(); ++s) {
    const auto more = static_cast<double>(s);
    made.stages[s] = {1 + more, 2 + 0.5 * more, 3 - 0.125 * more};
    made.updates.push(0.25 * more);
  }
  return made;
}

// An eye feeds two modules, and a language model with two replicas is fed by three, one of which stays as it
// is. All cut the samples of a step unlike.
program fan() {
  through_shape of;
  const auto add = [&](std::initializer_list<std::int32_t> ranks, std::int32_t microbatches,
                       std::initializer_list<std::int32_t> from) -> through_module& {
    through_module made;
    made.microbatches = microbatches;
    made.module = static_cast<std::int32_t>(of.modules.size());
    for (const std::int32_t rank : ranks) made.ranks.push(rank);
    for (const std::int32_t source : from) made.from.push(source);
    of.modules.push(made);
    return of.modules.back();
  };
  add({0, 1}, 6, {});              // eye
  add({2}, 2, {}).learns = false;  // ear
  add({3}, 4, {0});                // glue
  add({4}, 3, {0});                // lens
  for (std::int32_t r = 0; r < 2; ++r) {
    through_module& talk = add({5 + 2 * r, 6 + 2 * r}, 2, {1, 2, 3});
    talk.module = 4;
    talk.replica = r;
    talk.replicas = 2;
    talk.meets = true;
  }
  return compile(write_through(of));
}

}  // namespace

static_assert(median({}) == 0);
static_assert(median({3}) == 3);
static_assert(median({4, 1}) == 2.5);
static_assert(median({9, 1, 5, 3, 7}) == 5);
static_assert(median({2, 2, 1, 8, 1, 9, 0, 5}) == 2);

TEST_CASE("a simulated run gives back the costs that it was made with") {
  list<program> all;
  all.push(compile(zb_h1::write({4, 6})));
  all.push(compile(batch_sync::write({{{3, 8, 4, 2}, {2, 4, 2}}, 2})));
  all.push(compile(gpipe::write({2, 3})));
  all.push(fan());
  for (const program& of : all) {
    const cost_table costs = uneven(of, 0.75);
    const timeline when = simulated(of, costs);
    const cost_table found = measured_costs(of, {when, when});
    bool splits = false;
    for (const instruction& each : of.instructions) splits = splits || each.what == op::backward_input;
    REQUIRE(found.stages.size() == costs.stages.size());
    list<std::uint8_t> learns;
    for (const voice& each : of.voices) learns.resize(learns.size() + each.stages, each.learns ? 1 : 0);
    for (motet::isize s = 0; s < costs.stages.size(); ++s) {
      const stage_cost &a = costs.stages[s], &b = found.stages[s];
      CHECK(b.forward == doctest::Approx(a.forward));
      if (learns[s] == 0) continue;
      CHECK(b.backward_input + b.backward_weight == doctest::Approx(a.backward_input + a.backward_weight));
      CHECK(b.backward_input ==
            doctest::Approx(splits ? a.backward_input : (a.backward_input + a.backward_weight) / 2));
      CHECK(found.updates[s] == doctest::Approx(costs.updates[s]));
    }
    REQUIRE(found.joins.size() == of.joins);
    for (const double each : found.joins) CHECK(each == doctest::Approx(0.75));
    CHECK(found.wires.inside.latency == doctest::Approx(0).epsilon(1e-12));
    // Its time is the same, too.
    CHECK(simulated(of, found).makespan == doctest::Approx(when.makespan));
  }
}

TEST_CASE("of a sum that began while backward went on counts what was left behind it") {
  const program of = fan();
  cost_table costs = uneven(of);
  costs.reduction = 0.5;
  timeline when = simulated(of, costs);
  bool any = false;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i)
    if (of.instructions[i].what == op::reduce_gradient) {
      when.start[i] -= 2;
      any = true;
    }
  REQUIRE(any);
  const cost_table found = measured_costs(of, {when});
  CHECK(found.reduction == doctest::Approx(0.5));
  CHECK(simulated(of, found).makespan == doctest::Approx(when.makespan));
}

TEST_CASE("one slow microbatch or step does not count") {
  const program of = compile(zb_h2::write({3, 9}));
  const cost_table costs = uneven(of);
  list<timeline> steps;
  for (int k = 0; k < 3; ++k) steps.push(simulated(of, costs));
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (it.microbatch == 0 || it.microbatch == 7) steps[0].finish[i] += 100;
    steps[2].finish[i] = steps[2].start[i] + 3 * (steps[2].finish[i] - steps[2].start[i]);
  }
  const cost_table found = measured_costs(of, steps);
  for (motet::isize s = 0; s < 3; ++s) {
    CHECK(found.stages[s].forward == doctest::Approx(costs.stages[s].forward));
    CHECK(found.stages[s].backward_input == doctest::Approx(costs.stages[s].backward_input));
    CHECK(found.stages[s].backward_weight == doctest::Approx(costs.stages[s].backward_weight));
    CHECK(found.updates[s] == doctest::Approx(costs.updates[s]));
  }
}

TEST_CASE("gaps are as they were recorded, of each operation the median") {
  const program of = compile(one_f_one_b::write({2, 3}));
  timeline when = simulated(of, even_costs(of, {2, 2, 2}));
  CHECK(measured_costs(of, {when}).stages[0].gaps(op::forward) == 0);
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    const double at = when.start[i];
    if (it.stage == 0 && it.what == op::forward)  // in two pieces; one microbatch waited long
      for (const double begin : {0.0, 1.0})
        when.gaps.push({i, wait_for::gather, at + begin, at + begin + (it.microbatch == 1 ? 0.9 : 0.25)});
    if (it.stage == 0 && it.what == op::backward) when.gaps.push({i, wait_for::sum, at, at + 1});
    if (it.stage == 1 && it.what == op::forward) when.gaps.push({i, wait_for::sum, at, at + 2});
  }
  const cost_table found = measured_costs(of, {when});
  CHECK(found.stages[0].forward_gaps == doctest::Approx(0.5));
  CHECK(found.stages[0].gaps(op::backward) == doctest::Approx(0.25));
  CHECK(found.stages[1].gaps(op::forward) == doctest::Approx(0.99));  // some of it is work
  CHECK(found.stages[1].gaps(op::backward) == 0);
}

TEST_CASE("a join takes as long as its slowest member") {
  const program of = compile(batch_sync::write({{{1, 6, 2}, {1, 6, 2}}, 2}));
  timeline when = simulated(of, even_costs(of, {1, 1, 1}, 1));
  for (std::int32_t i = 0; i < of.instructions.size(); ++i)
    if (of.instructions[i].what == op::join)
      when.finish[i] = when.start[i] + (of.rank_of(i) == 0 ? 0.5 : 2.0 + of.instructions[i].microbatch);
  CHECK(measured_costs(of, {when}).joins[0] == 3);
}

TEST_CASE("the shortest way of a message is its latency") {
  const program of = compile(one_f_one_b::write({4, 8}));
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.wires.inside.latency = 0.125;
  const timeline when = simulated(of, costs);
  const cost_table found = measured_costs(of, {when});
  CHECK(found.wires.inside.latency == doctest::Approx(0.125));
  CHECK(simulated(of, found).makespan == doctest::Approx(when.makespan));
}

TEST_CASE("between modules, too, a receive finds its own send") {
  const program of = fan();
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  // Each send begins at a time of its own, and a receive that took another for it would end before that one
  // began.
  timeline when;
  when.start.resize(of.instructions.size(), 0);
  when.finish.resize(of.instructions.size(), 0);
  motet::isize parts = 0;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) when.start[i] = 10.0 * i;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    when.finish[i] = when.start[i] + 1;
    if (!is_receive(of.instructions[i].what)) continue;
    parts += of.instructions[i].part > 0 ? 1 : 0;
    const std::int32_t send = *graph.waits_of(i).begin();
    REQUIRE(is_send(of.instructions[send].what));
    when.finish[i] = when.start[send] + (i % 2 == 0 ? 3 : 4);
  }
  CHECK(parts > 0);
  CHECK(measured_costs(of, {when}).wires.inside.latency == 3);
}

TEST_CASE("what was not measured costs nothing") {
  const program of = compile(one_f_one_b::write({2, 2}));
  const cost_table found = measured_costs(of, {});
  CHECK(simulated(of, found).makespan == 0);
  CHECK(found.reduction == 0);
}

TEST_CASE("gradients are reduced, samples loaded and memory moved at the median's cost") {
  // Two replicas of one module.
  score order;
  for (int replica = 0; replica < 2; ++replica) {
    voice made;
    made.replica = replica;
    made.microbatches = 2;
    order.add(made, [&](int) { return replica; });
  }
  for (int r = 0; r < 2; ++r) {
    order.rank();
    for (int m = 0; m < 2; ++m) order.play(op::forward, r, 0, m);
    for (int m = 0; m < 2; ++m) order.play(op::backward, r, 0, m);
  }
  const program of = compile(order);
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.reduction = 0.5;
  costs.update = 0.25;
  const timeline when = simulated(of, costs);
  const cost_table found = measured_costs(of, {when});
  CHECK(found.reduction == doctest::Approx(0.5));
  CHECK(found.updates[0] == doctest::Approx(0.25));
  CHECK(simulated(of, found).makespan == doctest::Approx(when.makespan));
}
