// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/lists.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;
using laws::a_voice;

namespace {

using role = std::vector<instruction>;

program made_of(const voice& of, const std::vector<role>& roles) {
  program made;
  made.voices.push(of);
  for (int s = 0; s < of.stages; ++s) made.places.push(s % static_cast<int>(roles.size()));
  made.slots.resize(of.stages, 0);
  made.joins = of.join + 1;
  for (const role& each : roles) {
    for (const instruction& it : each) made.instructions.push(it);
    made.starts.push(static_cast<std::int32_t>(made.instructions.size()));
  }
  return made;
}
instruction at(op what, int stage, int microbatch, int in = lane::compute, int peer = -1) {
  return {what, static_cast<std::uint8_t>(in), false, 0, 0, stage, microbatch, peer};
}
instruction forward(int m, int s = 0) { return at(op::forward, s, m); }
instruction backward(int m, int s = 0) { return at(op::backward, s, m); }

finding found_in(const program& of) {
  program_graph graph;
  return build_graph(of, delivery::rendezvous, graph);
}
finding found_in(const role& only, int microbatches = 1, int slots = 0) {
  program made = made_of(a_voice(1, microbatches), {only});
  made.slots[0] = slots;
  return found_in(made);
}
void refused(const finding& found, broken_rule why, int rank, int at, int other = -1, isize got = 0,
             isize wanted = 0) {
  CAPTURE(at);
  CHECK(std::string(found.why->code) == why->code);
  CHECK(found.rank == rank);
  CHECK(found.at == at);
  CHECK(found.other == other);
  CHECK(found.got == got);
  CHECK(found.wanted == wanted);
}

}  // namespace

TEST_CASE("orders within a rank") {
  CHECK(found_in({forward(0), backward(0)}).ok());
  refused(found_in({backward(0), forward(0)}), reason::backward_first, 0, 0);
  refused(found_in({forward(0), forward(0), backward(0)}), reason::repeated, 0, 1, 0);
  refused(found_in({forward(0), backward(0), backward(0)}), reason::repeated, 0, 2, 1);
  refused(found_in({forward(0), at(op::backward_weight, 0, 0), at(op::backward_input, 0, 0)}),
          reason::weight_first, 0, 1);
  refused(found_in({at(op::forward_only, 0, 0), backward(0)}), reason::backward_first, 0, 1);
  refused(found_in({at(op::re_forward, 0, 0), backward(0)}), reason::needs_message, 0, 0);
  refused(found_in({forward(0), at(op::re_forward, 0, 0), backward(0)}), reason::repeated, 0, 1, 0);
  refused(found_in({forward(0)}), reason::left_out, 0, -1, -1, 0, 0);
  refused(found_in({forward(0), backward(0), forward(1)}, 2), reason::left_out, 0, -1, -1, 0, 1);
  refused(found_in({at(op::forward_only, 0, 0)}), reason::left_out, 0, -1, -1, 0, 0);
  refused(found_in({forward(0), at(op::backward_input, 0, 0)}), reason::left_out, 0, -1, -1, 0, 0);
}

TEST_CASE("stages, microbatches and operations that a rank does not have") {
  refused(found_in({forward(1)}), reason::not_its_stage, 0, 0, -1, 1, 1);
  refused(found_in({forward(-1)}), reason::not_its_stage, 0, 0, -1, -1, 1);
  refused(found_in({forward(0, 1)}), reason::not_its_stage, 0, 0, -1, 1, 1);
  refused(found_in({forward(0, -1)}), reason::not_its_stage, 0, 0, -1, -1, 1);
  instruction other = forward(0);
  other.voice = 1;
  refused(found_in({other}), reason::not_its_stage, 0, 0, -1, 1, 1);
  other.voice = -1;
  refused(found_in({other}), reason::not_its_stage, 0, 0, -1, -1, 1);
  refused(found_in({at(static_cast<op>(op_count), 0, 0)}), reason::bad_structure, 0, 0, -1, op_count,
          op_count - 1);
  refused(found_in({at(op::join, 0, 0)}), reason::not_its_stage, 0, 0);
  refused(found_in(made_of(a_voice(2, 1), {{forward(0), forward(0, 1)}, {}})), reason::not_its_stage, 0, 1,
          -1, 1, 2);
}

TEST_CASE("slots") {
  CHECK(found_in({forward(0), forward(1), backward(0), backward(1)}, 2, 2).ok());
  refused(found_in({forward(0), forward(1), backward(0), backward(1)}, 2, 1), reason::too_many_kept, 0, 1, -1,
          2, 1);
  CHECK(found_in({forward(0), backward(0), forward(1), backward(1)}, 2, 1).ok());
  // The input part alone leaves no slot.
  refused(found_in({forward(0), at(op::backward_input, 0, 0), forward(1), at(op::backward_weight, 0, 0),
                    backward(1)},
                   2, 1),
          reason::too_many_kept, 0, 2, -1, 2, 1);
  // A microbatch that was moved out needs none, until it comes back.
  const auto out = at(op::offload, 0, 0, lane::copy), back = at(op::fetch, 0, 0, lane::copy);
  CHECK(found_in({forward(0), out, forward(1), backward(1), back, backward(0)}, 2, 1).ok());
  refused(found_in({forward(0), out, forward(1), back, backward(1), backward(0)}, 2, 1),
          reason::too_many_kept, 0, 3, -1, 2, 1);
  // A pair that overlaps takes its slot before the other one leaves it.
  role pair = {forward(0), backward(0), forward(1), backward(1)};
  pair[1].paired = true;
  refused(found_in(pair, 2, 1), reason::too_many_kept, 0, 2, -1, 2, 1);
  CHECK(found_in(pair, 2, 2).ok());
}

TEST_CASE("what is moved out must come back") {
  const auto out = at(op::offload, 0, 0, lane::copy), back = at(op::fetch, 0, 0, lane::copy);
  refused(found_in({forward(0), out, backward(0)}), reason::not_fetched, 0, 2, 1);
  refused(found_in({forward(0), back, backward(0)}), reason::not_fetched, 0, 1);
  refused(found_in({out, forward(0), backward(0)}), reason::nothing_to_send, 0, 0);
  refused(found_in({forward(0), backward(0), out}), reason::nothing_to_send, 0, 2, 1);
  refused(found_in({forward(0), out, out, back, backward(0)}), reason::repeated, 0, 2, 1);
  refused(found_in({forward(0), out, back, back, backward(0)}), reason::repeated, 0, 3, 2);
  voice frozen = a_voice(1, 1);
  frozen.learns = false;
  refused(found_in(made_of(frozen, {{forward(0), out}})), reason::not_fetched, 0, 1, -1, 0, 0);
}

TEST_CASE("loads come before the forward of the first stage") {
  const auto load = at(op::load, 0, 0, lane::copy);
  CHECK(found_in({load, forward(0), backward(0)}).ok());
  refused(found_in({forward(0), load, backward(0)}), reason::needs_message, 0, 1, 0);
  refused(found_in({load, load, forward(0), backward(0)}), reason::repeated, 0, 1, 0);
  refused(found_in(made_of(a_voice(2, 1), {{forward(0), at(op::load, 1, 0), forward(0, 1)}})),
          reason::not_its_stage, 0, 1, -1, 1, 0);
}

TEST_CASE("messages") {
  const auto sends = at(op::send_forward, 0, 0, 4, 1), receives = at(op::receive_forward, 1, 0, 4, 0);
  const auto gives = at(op::send_backward, 1, 0, 5, 0), takes = at(op::receive_backward, 0, 0, 5, 1);
  const voice of = a_voice(2, 1);
  const auto told = [&](const role& first, const role& second) {
    return found_in(made_of(of, {first, second}));
  };
  const role left = {forward(0), sends, takes, backward(0)},
             right = {receives, forward(0, 1), backward(0, 1), gives};
  CHECK(told(left, right).ok());
  refused(told({sends, forward(0), takes, backward(0)}, right), reason::nothing_to_send, 0, 0);
  refused(told({forward(0), sends, backward(0), takes}, right), reason::needs_message, 0, 2);
  refused(told({forward(0), sends, sends, takes, backward(0)}, right), reason::repeated, 0, 2, 1);
  // nobody sends to rank 1's receive
  refused(told({forward(0), takes, backward(0)}, right), reason::unmatched, 0, 3, -1, 0, 1);
  refused(told(left, {forward(0, 1), backward(0, 1), gives}), reason::needs_message, 1, 4);
  refused(told(left, {receives, forward(0, 1), backward(0, 1)}), reason::unmatched, 0, 2, -1, 0, 1);
  refused(told(left, {receives, receives, forward(0, 1), backward(0, 1), gives}), reason::repeated, 1, 5, 4);
  // after its use
  refused(told(left, {receives, forward(0, 1), receives, backward(0, 1), gives}), reason::repeated, 1, 6, 4);
  refused(told(left, {forward(0, 1), receives, backward(0, 1), gives}), reason::needs_message, 1, 4);
  instruction wrong = sends;
  wrong.peer = 0;
  refused(told({forward(0), wrong, takes, backward(0)}, right), reason::unmatched, 0, 1, -1, 0, 1);
  refused(told({forward(0), sends, takes, backward(0), at(op::send_backward, 0, 0, 6, 1)}, right),
          reason::unmatched, 0, 4, -1, -1, 2);
  refused(told({forward(0), sends, takes, backward(0)},
               {receives, forward(0, 1), at(op::send_forward, 1, 0, 6, 0), backward(0, 1), gives}),
          reason::unmatched, 1, 6, -1, 2, 2);
  // Stages of one rank send each other nothing.
  refused(found_in(made_of(of, {{forward(0), at(op::send_forward, 0, 0, 4, 0), forward(0, 1), backward(0, 1),
                                 backward(0)}})),
          reason::unmatched, 0, 1, -1, 0, 0);
}

TEST_CASE("a replay is what a re_forward makes") {
  const voice of = a_voice(2, 1);
  const role right = {at(op::receive_forward, 1, 0, 4, 0),
                      at(op::forward_only, 1, 0),
                      at(op::receive_replay, 1, 0, 5, 0),
                      at(op::re_forward, 1, 0),
                      backward(0, 1),
                      at(op::send_backward, 1, 0, 6, 0)};
  const role left = {
      at(op::forward_only, 0, 0),      at(op::send_forward, 0, 0, 4, 1),     at(op::re_forward, 0, 0),
      at(op::send_replay, 0, 0, 5, 1), at(op::receive_backward, 0, 0, 6, 1), backward(0)};
  CHECK(found_in(made_of(of, {left, right})).ok());
  role early = left;
  std::swap(early[2], early[3]);
  refused(found_in(made_of(of, {early, right})), reason::nothing_to_send, 0, 2);
  role kept = left;
  kept[0].what = op::forward;
  kept.erase(kept.begin() + 2);
  refused(found_in(made_of(of, {kept, right})), reason::nothing_to_send, 0, 2);
  // On one rank as well: what kept its rows at once makes them no second time.
  refused(found_in(made_of(of, {{forward(0), at(op::forward_only, 1, 0), at(op::re_forward, 1, 0),
                                 backward(0, 1), backward(0)}})),
          reason::needs_message, 0, 2);
}

TEST_CASE("joins") {
  const auto told = [](const role& only, int microbatches, int group) {
    return found_in(made_of(a_voice(1, microbatches, 0, group), {only}));
  };
  const auto meets = [](int group) {
    return instruction{op::join, lane::compute, false, 0, 0, -1, group, -1};
  };
  CHECK(told({forward(0), forward(1), meets(0), backward(0), backward(1)}, 2, 2).ok());
  CHECK(told({forward(0), meets(0), forward(1), meets(1), backward(0), backward(1)}, 2, 1).ok());
  refused(told({forward(0), meets(0), forward(1), backward(0), backward(1)}, 2, 2), reason::join_first, 0, 1,
          -1, 1, 2);
  refused(told({forward(0), forward(1), backward(0), meets(0), backward(1)}, 2, 2), reason::before_join, 0,
          2);
  refused(told({forward(0), forward(1), meets(1), meets(0), backward(0), backward(1)}, 2, 1),
          reason::join_order, 0, 2, -1, 1, 0);
  refused(told({forward(0), meets(0), meets(0), backward(0)}, 1, 1), reason::repeated, 0, 2, 1, 0, 1);
  refused(told({forward(0), meets(1), backward(0)}, 1, 1), reason::not_its_stage, 0, 1, -1, 1, 0);
  refused(told({forward(0), forward(1), meets(0), backward(0), backward(1)}, 2, 1), reason::before_join, 0,
          4);
  voice frozen = a_voice(1, 2, 0, 1);
  frozen.learns = false;
  refused(found_in(made_of(frozen, {{forward(0), meets(0), forward(1)}})), reason::left_out, 0, 1, -1, 1, 2);
  program other =
      made_of(a_voice(2, 1, 0, 1), {{forward(0), at(op::send_forward, 0, 0, 4, 1), meets(0)}, {}});
  refused(found_in(other), reason::not_its_stage, 0, 2);  // the last stage meets, no other
}

TEST_CASE("updates come last, and once") {
  const auto step = at(op::optimizer_step, 0, -1), reduce = at(op::reduce_gradient, 0, -1, lane::reduce);
  CHECK(found_in({forward(0), backward(0), step}).ok());
  CHECK(found_in({forward(0), backward(0), reduce, step}).ok());
  refused(found_in({forward(0), step, backward(0)}), reason::update_first, 0, 1, -1, 0, 1);
  refused(found_in({forward(0), reduce, backward(0)}), reason::update_first, 0, 1, -1, 0, 1);
  refused(found_in({forward(0), backward(0), step, step}), reason::repeated, 0, 3, 2);
  refused(found_in({forward(0), backward(0), reduce, reduce, step}), reason::repeated, 0, 3, 2);
  refused(found_in({forward(0), backward(0), step, reduce}), reason::update_first, 0, 3, 2);
  refused(found_in(made_of(a_voice(2, 1), {{forward(0), forward(0, 1), backward(0, 1), backward(0), step}})),
          reason::left_out, 0, -1, -1, 1, -1);
  // With replicas, the sum over them comes before.
  program twice = compile(replicate(one_f_one_b::write({1, 1}), 2));
  CHECK(found_in(twice).ok());
  CHECK(twice.instructions[2].what == op::reduce_gradient);
  program missing = twice;
  missing.instructions[2] = missing.instructions[3];
  refused(found_in(missing), reason::update_first, 0, 2, -1, 0, 1);
  // One replica that does not reduce, in a program without updates.
  program uneven = made_of(a_voice(1, 1), {{forward(0), backward(0), reduce}, {}});
  uneven.voices.push(uneven.voices[0]);
  uneven.voices[1].first_place = uneven.voices[1].first_cell = 1;
  uneven.places.push(1);
  uneven.slots.push(0);
  for (const op each : {op::forward, op::backward})
    uneven.instructions.push({each, lane::compute, false, 0, 1});
  uneven.starts[2] = 5;
  refused(found_in(uneven), reason::left_out, 1, -1, -1, 0, -1);
  // One module that updates, and one that learned for nothing.
  uneven.voices[1].module = 1;
  uneven.instructions[2] = step;
  refused(found_in(uneven), reason::left_out, 1, -1, -1, 0, -1);
}

TEST_CASE("sharded parameters") {
  const auto gather = at(op::gather_parameters, 0, -1, lane::reduce),
             release = at(op::release_parameters, 0, -1, lane::reduce);
  CHECK(found_in({gather, forward(0), release, gather, backward(0), release}).ok());
  refused(found_in({gather, forward(0), release, backward(0)}), reason::not_gathered, 0, 3, 2);
  refused(found_in({gather, gather, forward(0), backward(0)}), reason::repeated, 0, 1, 0);
  refused(found_in({forward(0), release, release, gather, backward(0)}), reason::repeated, 0, 2, 1);
}

TEST_CASE("pairs") {
  role pair = {forward(0), forward(1), backward(0), backward(1)};
  pair[1].paired = true;
  CHECK(found_in(pair, 2).ok());
  role last = pair;
  last[1].paired = false;
  last[3].paired = true;
  refused(found_in(last, 2), reason::bad_pair, 0, 3);
  role lanes = pair;
  lanes[2].lane = lane::aside;
  refused(found_in(lanes, 2), reason::bad_pair, 0, 1);
  role needs = {forward(0), backward(0)};
  needs[0].paired = true;
  refused(found_in(needs), reason::bad_pair, 0, 1, 0);
  role gradient = {forward(0), forward(1), backward(0), backward(1)};
  gradient[2].paired = true;
  refused(found_in(gradient, 2), reason::bad_pair, 0, 3, 2);
  role moves = {at(op::load, 0, 0), forward(0), backward(0)};
  moves[0].paired = true;
  refused(found_in(moves), reason::bad_pair, 0, 0);
  moves = {forward(0), at(op::offload, 0, 0), at(op::fetch, 0, 0), backward(0)};
  moves[0].paired = true;
  refused(found_in(moves), reason::bad_pair, 0, 1);
}

TEST_CASE("what waits for what") {
  // Rank 1 of two stages: receive (lane 4), forward, backward, send (lane 5), with a fetch and an offload in
  // the copy lane.
  const program of = made_of(
      a_voice(2, 1),
      {{forward(0), at(op::send_forward, 0, 0, 4, 1), at(op::receive_backward, 0, 0, 5, 1), backward(0)},
       {at(op::receive_forward, 1, 0, 4, 0), forward(0, 1), at(op::offload, 1, 0, lane::copy),
        at(op::fetch, 1, 0, lane::copy), backward(0, 1), at(op::send_backward, 1, 0, 5, 0)}});
  const auto waits = [](const program_graph& graph, int i) {
    list<std::int32_t> all;
    for (const std::int32_t each : graph.waits_of(i)) all.push(each);
    return all;
  };
  program_graph graph;
  REQUIRE(build_graph(of, delivery::buffered, graph).ok());
  using positions = list<std::int32_t>;
  CHECK(waits(graph, 0) == positions{});
  CHECK(waits(graph, 1) == positions{0});  // the send for the forward
  CHECK(waits(graph, 2) == positions{9});  // the receive for the send
  CHECK(waits(graph, 3) == positions{2});  // the backward for the receive; its forward is in its own lane
  CHECK(waits(graph, 4) == positions{1});
  CHECK(waits(graph, 5) == positions{4});
  CHECK(waits(graph, 6) == positions{5});  // the offload for the forward
  CHECK(waits(graph, 7) == positions{});   // the fetch stands behind it in its lane
  CHECK(waits(graph, 8) == positions{7});  // the backward for the fetch
  CHECK(waits(graph, 9) == positions{8});
  CHECK(graph.meeting_sizes.empty());
  REQUIRE(build_graph(of, delivery::rendezvous, graph).ok());
  CHECK(waits(graph, 2) == positions{-1});
  CHECK(waits(graph, 4) == positions{-1});
  CHECK(graph.meeting_sizes == positions{2, 2});
  CHECK((graph.meetings[1] == graph.meetings[4] && graph.meetings[2] == graph.meetings[9] &&
         graph.meetings[1] != graph.meetings[2]));
  CHECK(graph.meetings[0] == -1);
}

TEST_CASE("a slot is free when all that left it are gone, in whatever lanes") {
  const auto moves = [](op what, int m, int in) { return at(what, 0, m, in); };
  program of =
      made_of(a_voice(1, 3),
              {{forward(0), forward(1), moves(op::offload, 0, 6), moves(op::offload, 1, 3), forward(2),
                backward(2), moves(op::fetch, 0, 3), moves(op::fetch, 1, 3), backward(0), backward(1)}});
  of.slots[0] = 2;
  REQUIRE(found_in(of).ok());
  for (std::uint64_t seed = 0; seed < 20; ++seed) laws::check_waits(of, delivery::buffered, seed);
}

TEST_CASE("loads, offloads, sharded parameters and replays: waits meet every need, whatever the lanes") {
  laws::dice draw(7);
  int legal = 0;
  for (int k = 0; k < 600; ++k) {
    const batch_sync::shape towers{{{2, 4, 2, k % 3}, {1, 2, 1, 0}}, 2};
    const score from = k % 3 == 0   ? laws::overlapped::write({3, 4})
                       : k % 3 == 1 ? batch_sync::write(towers)
                                    : replicate(one_f_one_b::write({2, 3}), 2);
    program made = laws::decorated(compile(from), draw);
    // Some instructions in other lanes: what waited in its lane must now wait across.
    for (int times = k % 6; times-- > 0;) {
      instruction& it = made.instructions[draw.below(made.instructions.size())];
      if (!it.paired) it.lane = static_cast<std::uint8_t>(draw.below(5));
    }
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      const check_result found = check(made, how);
      CHECK_MESSAGE(found.ok() == laws::oracle(made, how).legal(), explain(made, found));
      if (!found.ok()) continue;
      laws::check_waits(made, how, static_cast<std::uint64_t>(k));
      ++legal;
    }
  }
  CHECK(legal > 400);
}
