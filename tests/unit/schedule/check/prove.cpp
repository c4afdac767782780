// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;
using laws::a_voice;
using laws::written;

namespace {
bool same(const verdict& found, const verdict& wanted) {
  return found.why == wanted.why && found.where == wanted.where && found.got == wanted.got &&
         found.wanted == wanted.wanted;
}
}  // namespace

TEST_CASE("orders that can be played") {
  CHECK(prove(written(a_voice(2, 2), {"F0 F1 B0 B1", "F0 B0 F1 B1"})).ok());
  // microbatches in any order
  CHECK(prove(written(a_voice(2, 2), {"F1 F0 B1 B0", "F1 F0 B1 B0"})).ok());
  // parts beside wholes
  CHECK(prove(written(a_voice(2, 2), {"F0 F1 B0 B1", "F0 F1 I0 I1 W1 W0"})).ok());
  // one runs twice
  CHECK(prove(written(a_voice(2, 2), {"f0 F1 R0 B0 B1", "f0 F1 R0 B0 B1"})).ok());
  // the last stage kept it at once
  CHECK(prove(written(a_voice(2, 1), {"f0 R0 B0", "F0 B0"})).ok());
  // a loss for each two
  CHECK(
      prove(written(a_voice(2, 4, 0, 2), {"F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 S0 B0 F2 B1 F3 S1 B2 B3"})).ok());
  CHECK(
      prove(written(a_voice(2, 4, 0, 2), {"F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 s0 F2 B0 F3 s1 B1 B2 B3"})).ok());
  CHECK(prove(written(a_voice(2, 2), {"F0 F1 B0 B1", "F0 F1+ B0 B1"})).ok());  // two overlap
  voice frozen = a_voice(2, 2);
  frozen.learns = false;
  CHECK(prove(written(frozen, {"F0 F1", "F0 F1"})).ok());
  CHECK(prove(score{}).ok());
}

TEST_CASE("what each broken order is told") {
  const auto told = [](const voice& of, const std::vector<std::string>& orders) {
    return prove(written(of, orders));
  };
  // rank, stage, microbatch
  CHECK(same(told(a_voice(2, 2), {"F0 F1 B0 B1", "F0 B0 F1"}), {reason::left_out, 1, 1, 1}));
  CHECK(same(told(a_voice(2, 2), {"F0 F1 B0", "F0 B0 F1 B1"}), {reason::left_out, 0, 0, 1}));
  // rank, position, microbatch
  CHECK(same(told(a_voice(2, 2), {"F0 F1 B0 B1", "F0 F0 B0 F1 B1"}), {reason::repeated, 1, 1, 0}));
  CHECK(same(told(a_voice(1, 2), {"F0 F1 B0 B0 B1"}), {reason::repeated, 0, 3, 0}));
  CHECK(same(told(a_voice(1, 2), {"F0 F1 I0 W0 W0 B1"}), {reason::repeated, 0, 4, 0}));
  CHECK(same(told(a_voice(1, 1), {"F0 R0 B0"}), {reason::repeated, 0, 1, 0}));
  CHECK(same(told(a_voice(1, 2), {"F0 B1 F1 B0"}), {reason::backward_first, 0, 1, 1}));
  CHECK(same(told(a_voice(1, 1), {"f0 B0"}), {reason::backward_first, 0, 1, 0}));
  CHECK(same(told(a_voice(1, 1), {"F0 W0 I0"}), {reason::weight_first, 0, 1, 0}));
  // there is no microbatch 2
  CHECK(same(told(a_voice(2, 2), {"F0 F1 F2 B0 B1", "F0 B0 F1 B1"}), {reason::not_its_stage, 0, 2, 0}));
  CHECK(same(told(a_voice(2, 1), {"F0 B0", "F0 F0.0 B0"}), {reason::not_its_stage, 1, 1, 0}));
  CHECK(same(told(a_voice(2, 1), {"F0 B0", "F0 B0 F0.2"}), {reason::not_its_stage, 1, 2, 2}));
  CHECK(same(told(a_voice(2, 1), {"F0 R0 B0", "f0 R0 B0"}), {reason::repeated, 0, 1, 0}));
  // nobody makes its rows again
  CHECK(same(told(a_voice(2, 1), {"F0 B0", "f0 R0 B0"}), {reason::needs_message, 1, 1, 0}));
}

TEST_CASE("what each broken join is told") {
  const auto told = [](const std::vector<std::string>& orders, int group = 2) {
    return prove(written(a_voice(2, 4, 0, group), orders));
  };
  const std::string first = "F0 F1 F2 F3 B0 B1 B2 B3";
  // rank 0 waits at its B2
  CHECK(same(told({first, "F0 F1 S0 B0 B1 F2 F3 B2 B3"}), {reason::deadlock, 0, 6, 8}));
  // microbatch 1 is missing
  CHECK(same(told({first, "F0 S0 F1 B0 B1 F2 F3 S1 B2 B3"}), {reason::join_first, 1, 1, 1}));
  CHECK(same(told({first, "F0 F1 F2 F3 S1 S0 B0 B1 B2 B3"}), {reason::join_order, 1, 4, 0}));
  CHECK(same(told({first, "F0 F1 S0 S0 B0 B1 F2 F3 S1 B2 B3"}), {reason::repeated, 1, 3, 1}));
  CHECK(same(told({first, "F0 F1 S0 S2 B0 B1 F2 F3 S1 B2 B3"}), {reason::not_its_stage, 1, 3, 2}));
  CHECK(same(told({first + " S0", "F0 F1 S0 B0 B1 F2 F3 S1 B2 B3"}), {reason::not_its_stage, 0, 8, 0}));
  CHECK(same(told({first, "F0 F1 S0 B0 B1 F2 F3 S1 B2 B3"}, 3), {reason::group_does_not_divide, 0, 3, 4}));
  // Two voices with different numbers of groups.
  score made;
  made.add(a_voice(1, 4, 0, 2), [](int) { return 0; });
  made.add(a_voice(1, 4, 0, 4), [](int) { return 1; });
  made.rank();
  made.rank();
  CHECK(same(prove(made), {reason::joins_differ, 1, 1, 2}));
  // One that never comes: what it holds up is named.
  score alone;
  alone.add(a_voice(1, 1, 0, 1), [](int) { return 0; });
  alone.add(a_voice(1, 1, 0, 1), [](int) { return 1; });
  laws::play(alone, "F0 S0 B0", 0, 0);
  laws::play(alone, "F0", 1, 0);
  CHECK(same(prove(alone), {reason::deadlock, 0, 1, 3}));
  voice frozen = a_voice(1, 2, 0, 2);
  frozen.learns = false;
  CHECK(same(prove(written(frozen, {"F0 F1"})), {reason::left_out, 0, 0, 1}));  // join, arrived, members
}

TEST_CASE("a rank with two members of a join meets the others once") {
  score made;
  for (const int home : {0, 0, 1}) {
    voice of = a_voice(1, 1, 0, 1);
    of.module = static_cast<std::int32_t>(made.voices().size());
    made.add(of, [&](int) { return home; });
  }
  made.rank();
  made.play(op::forward, 0, 0, 0);
  made.play(op::forward, 1, 0, 0);
  made.join(0, 0);
  made.play(op::backward, 1, 0, 0);
  made.play(op::backward, 0, 0, 0);
  made.rank();
  made.play(op::forward, 2, 0, 0);
  made.join(0, 0);
  made.play(op::backward, 2, 0, 0);
  CHECK(prove(made).ok());
  CHECK(check(compile(made)).ok());
}

TEST_CASE("ranks that wait for each other for ever") {
  // Each wants the backward that the other would give only later.
  const verdict found = prove(written(a_voice(2, 2), {"F0 B0 F1 B1", "F0 F1 B0 B1"}));
  CHECK(same(found, {reason::deadlock, 0, 1, 4}));
  // Cues that overlap start together: the forward needs what the other rank sends only behind its own pair.
  CHECK(prove(written(a_voice(2, 2), {"F0 F1+ B0 B1", "F0 F1+ B0 B1"})).why == reason::deadlock);
}

TEST_CASE("what may not overlap") {
  const auto told = [](const std::vector<std::string>& orders) {
    return prove(written(a_voice(static_cast<int>(orders.size()), 2), orders));
  };
  CHECK(same(told({"F0 B0 F1+ B1"}), {reason::bad_pair, 0, 3, 0}));  // needs its own forward
  CHECK(same(told({"F0 F1 B0 B1+"}), {reason::bad_pair, 0, 4, 0}));  // nothing behind it
  CHECK(same(told({"F0 F1 B0+ B1"}), {reason::bad_pair, 0, 3, 0}));  // one gradient
  CHECK(same(told({"F0 F1 I0 I1 W0+ W1"}), {reason::bad_pair, 0, 5, 0}));
  CHECK(same(told({"F0 F1 I0+ W0 B1"}), {reason::bad_pair, 0, 3, 0}));
  CHECK(told({"F0 F1 I0 I1+ W0 W1"}).ok());
  // Two stages of one rank, one behind the other.
  score made;
  made.add(a_voice(2, 1), [](int) { return 0; });
  made.rank();
  made.play_pair(op::forward, 0, 0, op::forward, 1, 0);
  made.play(op::backward, 0, 1, 0);
  made.play(op::backward, 0, 0, 0);
  CHECK(same(prove(made), {reason::bad_pair, 0, 1, 0}));
  // A join has no part in a pair.
  CHECK(same(prove(written(a_voice(1, 1, 0, 1), {"F0+ S0 B0"})), {reason::bad_pair, 0, 1, 0}));
  CHECK(same(prove(written(a_voice(1, 1, 0, 1), {"F0 S0+ B0"})), {reason::bad_pair, 0, 1, 0}));
  // All of three must be there before the first begins: the last waits here for what the first would let
  // happen.
  const score three = written(a_voice(2, 3), {"F0 F1+ F2+ B0 B1 B2", "F0 F1 B0 F2 B1 B2"});
  CHECK(prove(three).why == reason::deadlock);
  CHECK(prove(written(a_voice(2, 3), {"F0 F1+ F2+ B0 B1 B2", "F0 B0 F1 B1 F2 B2"})).ok());
}

TEST_CASE("tables that do not fit") {
  score outside;
  outside.add(a_voice(2, 1), [](int stage) { return stage; });
  outside.rank();
  CHECK(same(prove(outside), {reason::bad_structure, 1, 1, 1}));  // stage 1 on rank 1 of 1
  score early;
  early.add(a_voice(1, 1), [](int) { return 0; });
  early.play(op::forward, 0, 0, 0);
  early.rank();
  early.play(op::backward, 0, 0, 0);
  CHECK(prove(early).why == reason::bad_structure);
  score none;
  none.add(a_voice(0, 1), [](int) { return 0; });
  CHECK(prove(none).why == reason::no_stages);
  score message;
  message.add(a_voice(1, 1), [](int) { return 0; });
  message.rank();
  message.play(op::send_forward, 0, 0, 0);
  CHECK(same(prove(message), {reason::not_a_cue, 0, 0, static_cast<int>(op::send_forward)}));
  message = score{};
  message.add(a_voice(1, 1), [](int) { return 0; });
  message.rank();
  message.play(op::forward, 1, 0, 0);
  CHECK(same(prove(message), {reason::not_its_stage, 0, 0, 0}));
}

TEST_CASE("random broken scores: prove() agrees with the oracle, and check() passes what prove() passes") {
  laws::dice draw(9);
  int refused = 0;
  const int count = 2500;
  for (int k = 0; k < count; ++k) {
    const pipeline_shape p{draw.between(1, 4), draw.between(1, 5)};
    const batch_sync::shape towers{
        {{draw.between(1, 3), 4, 2, draw.between(0, 2), draw.below(2)}, {draw.between(1, 3), 2, 1}}, 2};
    const score whole = k % 4 == 0   ? one_f_one_b::write(p)
                        : k % 4 == 1 ? zb_h1::write(p)
                        : k % 4 == 2 ? laws::overlapped::write(p)
                                     : batch_sync::write(towers);
    std::vector<std::vector<std::int64_t>> ranks;
    for (int r = 0; r < whole.ranks(); ++r)
      ranks.emplace_back(whole.codes().begin() + whole.begin_of(r), whole.codes().begin() + whole.end_of(r));
    for (int times = draw.below(3); times-- > 0;) {
      auto& order = ranks[static_cast<std::size_t>(draw.below(static_cast<isize>(ranks.size())))];
      if (order.empty()) continue;
      const int i = draw.below(static_cast<isize>(order.size())),
                j = draw.below(static_cast<isize>(order.size()));
      std::int64_t& code = order[static_cast<std::size_t>(i)];
      switch (draw.below(6)) {
        case 0: std::swap(code, order[static_cast<std::size_t>(j)]); break;
        case 1: order.erase(order.begin() + i); break;
        case 2: order.insert(order.begin() + j, code); break;
        case 3: code ^= 32; break;  // paired
        case 4:
          code = (code & ~std::int64_t{31}) | draw.below(7);
          break;  // another operation
        // another voice, stage or microbatch
        default: code ^= std::int64_t{1} << (7 + draw.below(40)); break;
      }
    }
    score broken;
    for (const voice& each : whole.voices())
      broken.add(each, [&](int stage) { return whole.place(each, stage); });
    for (const auto& order : ranks) {
      broken.rank();
      for (const std::int64_t code : order) {
        const cue it(code);
        if (it.what == op::join) broken.join(it.voice, it.microbatch, it.aside);
        else broken.play(it.what, it.voice, it.stage, it.microbatch);
        if (it.paired) broken.pair_with_next();
      }
    }
    const program naive = laws::naive_program(broken);
    const laws::oracle meaning(naive, k % 2 == 0 ? delivery::rendezvous : delivery::buffered);
    const verdict found = prove(broken);
    CHECK_MESSAGE(found.ok() == meaning.legal(),
                  "case " << k << ": " << found.why->sentence << ", rank " << found.where);
    refused += found.ok() ? 0 : 1;
    if (!found.ok()) continue;
    const program made = compile(broken);
    for (const delivery how : {delivery::rendezvous, delivery::buffered}) {
      const check_result result = check(made, how);
      CHECK_MESSAGE(result.ok(), explain(made, result));
    }
  }
  CHECK(refused > count / 4);
  CHECK(refused < count * 3 / 4);
}
