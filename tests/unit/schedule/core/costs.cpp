// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>

#include "schedule_text.hpp"

using namespace motet;

TEST_CASE("what each instruction takes") {
  program of = compile(batch_sync::write({{{2, 4, 2}}, 1}));
  cost_table costs = even_costs(of, {}, 7);
  costs.stages[1] = {1, 2, 4};
  costs.reduction = 8, costs.update = 16, costs.gather = 32, costs.load = 64, costs.copy = 128;
  const auto takes = [&](op what, int microbatch = 0) {
    return costs.seconds(of, {what, 0, false, 0, 0, 1, microbatch});
  };
  CHECK(takes(op::forward) == 1);
  CHECK(takes(op::forward_only) == 1);
  CHECK(takes(op::re_forward) == 1);
  CHECK(takes(op::backward) == 6);
  CHECK(takes(op::backward_input) == 2);
  CHECK(takes(op::backward_weight) == 4);
  CHECK(takes(op::join) == 7);
  CHECK(takes(op::reduce_gradient) == 8);
  CHECK(takes(op::optimizer_step) == 16);
  CHECK(takes(op::gather_parameters) == 32);
  CHECK(takes(op::release_parameters) == 0);
  CHECK(takes(op::load) == 64);
  CHECK(takes(op::offload) == 128);
  CHECK(takes(op::fetch) == 128);
  for (const op each : {op::send_forward, op::receive_forward, op::send_backward, op::receive_replay})
    CHECK(takes(each) == 0);  // wires take their time
  // Microbatches of unequal size, at each stage.
  costs.scale.resize(of.cells(), 1);
  costs.scale[of.voices[0].cell(1, 2)] = .5;
  CHECK(takes(op::backward, 2) == 3);
  CHECK(takes(op::backward, 1) == 6);
  CHECK(takes(op::join, 2) == 7);
  costs.updates = {5, 6};
  CHECK(takes(op::optimizer_step) == 6);
  costs.reductions = {9, 10};
  CHECK(takes(op::reduce_gradient) == 10);
  CHECK(costs.seconds(of, {op::reduce_gradient, 0, false, 0, 0, 0, -1}) == 9);
  costs.joins.clear();
  CHECK(takes(op::join) == 0);
}

TEST_CASE("bytes of messages follow the microbatch, too") {
  const program of = compile(batch_sync::write({{{2, 4, 2}}, 1}));
  cost_table costs = even_costs(of, {1, 1, 1, 0, 100, 40});
  costs.scale.resize(of.cells(), 1);
  costs.scale[of.voices[0].cell(0, 3)] = 2;
  const message_shares even(of);
  const auto bytes = [&](op what, std::int32_t microbatch) {
    for (std::int32_t i = 0; i < of.instructions.size(); ++i)
      if (of.instructions[i].what == what && of.instructions[i].microbatch == microbatch)
        return costs.bytes(of, i, even);
    return -1.0;
  };
  CHECK(bytes(op::send_forward, 0) == 100);
  CHECK(bytes(op::send_forward, 3) == 200);
  CHECK(bytes(op::send_backward, 0) == 40);
  // Where bytes of each message are known they count, as often as the microbatch is large.
  costs.messages.resize(of.instructions.size(), 7);
  CHECK(bytes(op::send_forward, 0) == 7);
  CHECK(bytes(op::send_forward, 3) == 14);
}

TEST_CASE("wires inside a node and between nodes") {
  CHECK(wire{1, 4}.seconds(8) == 2);
  CHECK(wire{1, 0}.seconds(8) == 0);
  cost_table costs;
  costs.wires = {{1, 10}, {2, 20}, 4};
  CHECK(costs.between(0, 3).latency == 1);
  CHECK(costs.between(3, 4).latency == 2);
  CHECK(costs.between(8, 7).bytes_per_second == 20);
  costs.wires.ranks_per_node = 0;
  CHECK(costs.between(0, 1000).latency == 1);
}

TEST_CASE("a device's times are divided over its chunks") {
  const program of = compile(interleaved::write({2, 4, 4}));
  const cost_table costs = even_costs(of, {1, 2, 4, 8, 16, 32}, 3);
  REQUIRE(costs.stages.size() == 8);
  for (const stage_cost& each : costs.stages) {
    CHECK((each.forward == .25 && each.backward_input == .5 && each.backward_weight == 1 &&
           each.kept_bytes == 2));
    CHECK((each.forward_bytes == 16 && each.backward_bytes == 32));
  }
  CHECK(costs.joins.empty());
}
