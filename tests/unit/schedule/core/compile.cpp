// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;
using laws::a_voice;
using laws::written;

namespace {

// "lane:operation stage.microbatch>peer", for every instruction of a rank.
std::string text_of(const program& of, int rank) {
  std::string text;
  for (const instruction& it : of.role(rank)) {
    if (!text.empty()) text += ' ';
    text += std::to_string(it.lane) + ":" + name_of(it.what) + (it.paired ? "+" : "");
    if (it.stage >= 0) text += " " + std::to_string(it.stage);
    if (it.microbatch >= 0) text += "." + std::to_string(it.microbatch);
    if (it.peer >= 0) text += ">" + std::to_string(it.peer);
  }
  return text;
}

}  // namespace

TEST_CASE("1F1B with its messages, each channel in a lane of its own") {
  const program of = compile(one_f_one_b::write({2, 2}));
  CHECK(text_of(of, 0) ==
        "0:forward 0.0 4:send_forward 0.0>1 0:forward 0.1 4:send_forward 0.1>1 5:receive_backward 0.0>1 "
        "0:backward 0.0 5:receive_backward 0.1>1 "
        "0:backward 0.1 0:optimizer_step 0");
  CHECK(text_of(of, 1) ==
        "4:receive_forward 1.0>0 0:forward 1.0 0:backward 1.0 5:send_backward 1.0>0 4:receive_forward 1.1>0 "
        "0:forward 1.1 0:backward 1.1 "
        "5:send_backward 1.1>0 0:optimizer_step 1");
  CHECK(of.slots == list<std::int32_t>{2, 1});
}

TEST_CASE("one lane for all messages, or the computation's own") {
  for (const auto& [carried, wanted] :
       {std::pair{messages::in_one_lane, lane::first_channel}, {messages::in_compute, lane::compute}}) {
    const program of = compile(one_f_one_b::write({3, 4}), {carried});
    for (const instruction& it : of.instructions)
      CHECK(it.lane == (is_transfer(it.what) ? wanted : lane::compute));
  }
}

TEST_CASE("without an update") {
  const program of = compile(one_f_one_b::write({2, 2}), {.update = false});
  for (const instruction& it : of.instructions) CHECK(it.what != op::optimizer_step);
  CHECK(check(of).ok());
}

TEST_CASE("replicas reduce before they update; a frozen voice does neither") {
  score from = replicate(one_f_one_b::write({1, 1}), 2);
  voice frozen = a_voice(1, 1);
  frozen.module = 1;
  frozen.learns = false;
  from.add(frozen, [](int) { return 2; });
  from.rank();
  from.play(op::forward, 2, 0, 0);
  const program of = compile(from);
  CHECK(text_of(of, 0) == "0:forward 0.0 0:backward 0.0 2:reduce_gradient 0 0:optimizer_step 0");
  CHECK(text_of(of, 1) == text_of(of, 0));
  CHECK(text_of(of, 2) == "0:forward 0.0");
  CHECK(check(of).ok());
}

TEST_CASE("each of many ranks updates what it holds, in the order of voices and stages") {
  constexpr int ranks = 3000, chunks = 2;
  score order;
  for (const int first : {0, 1})
    order.add(a_voice(ranks * chunks, 1, first), [&](int stage) { return (stage + first) % ranks; });
  for (int r = 0; r < ranks; ++r) order.rank();
  const program of = compile(order);
  for (int r = 0; r < ranks; ++r) {
    std::vector<std::pair<int, int>> wanted;
    for (const int v : {0, 1})
      for (int c = 0; c < chunks; ++c) wanted.emplace_back(v, (r - v + ranks) % ranks + c * ranks);
    std::vector<std::pair<int, int>> got;
    for (const instruction& it : of.role(r))
      if (it.what == op::optimizer_step) got.emplace_back(it.voice, it.stage);
    REQUIRE(got == wanted);
  }
}

TEST_CASE("receives come in the order in which the other side sends") {
  // Rank 1 uses microbatch 1 first, although 0 was sent before it.
  const program of =
      compile(written(a_voice(2, 2), {"F0 F1 B1 B0", "F1 F0 B1 B0"}), {messages::in_channels, false});
  CHECK(text_of(of, 1) ==
        "4:receive_forward 1.0>0 4:receive_forward 1.1>0 0:forward 1.1 0:forward 1.0 0:backward 1.1 "
        "5:send_backward 1.1>0 0:backward 1.0 "
        "5:send_backward 1.0>0");
  CHECK(check(of).ok());
}

TEST_CASE("what overlaps has its receives before it and its sends behind") {
  const program of = compile(laws::overlapped::write({2, 3}), {messages::in_channels, false});
  CHECK(
      text_of(of, 0) ==
      "0:forward 0.0 4:send_forward 0.0>1 0:forward 0.1 4:send_forward 0.1>1 5:receive_backward 0.0>1 "
      "0:forward+ 0.2 0:backward 0.0 "
      "4:send_forward 0.2>1 5:receive_backward 0.1>1 0:backward 0.1 5:receive_backward 0.2>1 0:backward 0.2");
}

TEST_CASE("a replay has messages of its own, and none for a stage that kept its microbatch") {
  const program of =
      compile(written(a_voice(3, 1), {"f0 R0 B0", "f0 R0 B0", "F0 B0"}), {messages::in_channels, false});
  CHECK(text_of(of, 0) ==
        "0:forward_only 0.0 4:send_forward 0.0>1 0:re_forward 0.0 5:send_replay 0.0>1 6:receive_backward "
        "0.0>1 0:backward 0.0");
  CHECK(text_of(of, 1) ==
        "4:receive_forward 1.0>0 0:forward_only 1.0 5:send_forward 1.0>2 6:receive_replay 1.0>0 0:re_forward "
        "1.0 7:receive_backward 1.0>2 "
        "0:backward 1.0 8:send_backward 1.0>0");
  CHECK(text_of(of, 2) == "4:receive_forward 2.0>1 0:forward 2.0 0:backward 2.0 5:send_backward 2.0>1");
  CHECK(check(of).ok());
}

TEST_CASE("stages of one rank send each other nothing") {
  score from;
  from.add(a_voice(3, 1), [](int stage) { return stage == 1 ? 0 : stage / 2; });
  laws::play(from, "F0.0 F0.1 B0.1 B0.0");
  laws::play(from, "F0.2 B0.2");
  const program of = compile(from, {messages::in_channels, false});
  CHECK(text_of(of, 0) ==
        "0:forward 0.0 0:forward 1.0 4:send_forward 1.0>1 5:receive_backward 1.0>1 0:backward 1.0 0:backward "
        "0.0");
  CHECK(check(of).ok());
}

TEST_CASE("a join aside has a lane of its own") {
  const program of = compile(written(a_voice(1, 2, 0, 1), {"F0 s0 F1 s1 B0 B1"}), {.update = false});
  CHECK(text_of(of, 0) == "0:forward 0.0 1:join.0 0:forward 0.1 1:join.1 0:backward 0.0 0:backward 0.1");
}

TEST_CASE("hundreds of chunks share the channels between their ranks") {
  for (const pipeline_shape p : {pipeline_shape{2, 2, 150}, {2, 4, 150}, {3, 3, 120}}) {
    const score from = interleaved::write(p);
    const program of = compile(from);
    int lanes = 0;
    for (const instruction& it : of.instructions) lanes = it.lane > lanes ? it.lane : lanes;
    CHECK(lanes == lane::first_channel + 3);  // to and from both neighbours
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      const check_result found = check(of, how);
      CHECK_MESSAGE(found.ok(), explain(of, found));
    }
    laws::check_messages(of);
    CHECK(score_of(of) == from);
  }
}

TEST_CASE("a rank with more neighbours than lanes") {
  // A hub that runs the second stage of 150 modules, the first ones on ranks of their own.
  const auto hub = [](bool in_turn) {
    score from;
    for (int k = 0; k < 150; ++k) {
      voice each = a_voice(2, 1);
      each.module = k;
      from.add(each, [k](int stage) { return stage == 0 ? k + 1 : 0; });
    }
    from.rank();
    for (int k = 0; k < 150; ++k) {
      from.play(op::forward, k, 1, 0);
      if (in_turn) from.play(op::backward, k, 1, 0);
    }
    for (int k = 0; k < 150 && !in_turn; ++k) from.play(op::backward, 149 - k, 1, 0);
    for (int k = 0; k < 150; ++k) {
      from.rank();
      from.play(op::forward, k, 0, 0);
      from.play(op::backward, k, 0, 0);
    }
    return from;
  };
  for (const bool in_turn : {false, true}) {
    const score from = hub(in_turn);
    REQUIRE(prove(from).ok());
    const program of = compile(from);
    int lanes = 0;
    for (const instruction& it : of.instructions) lanes = it.lane > lanes ? it.lane : lanes;
    CHECK(lanes == lane::last_channel);
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      const check_result found = check(of, how);
      CHECK(found.ok() == laws::oracle(of, how).legal());
      CHECK_MESSAGE(found.ok(), explain(of, found));
    }
  }
}

TEST_CASE("the score of a program is the score that it was made from") {
  const score from = batch_sync::write({{{2, 4, 2, 1, 1}, {3, 4, 2}}, 2});
  for (const messages carried : {messages::in_channels, messages::in_one_lane, messages::in_compute})
    CHECK(score_of(compile(from, {carried})) == from);
  CHECK(score_of(compile(laws::overlapped::write({3, 5}))) == laws::overlapped::write({3, 5}));
}

TEST_CASE("replicas of modules") {
  list<voice> voices;
  for (const int module : {0, 2, 0, 2, 2}) {
    voice each;
    each.module = module;
    voices.push(each);
  }
  CHECK(replicas_of_modules(voices) == list<std::int32_t>{2, 0, 3});
}
