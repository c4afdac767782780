// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

#include <algorithm>

using namespace motet;
using laws::a_voice;
using laws::rehearse;
using laws::rehearsed;
using laws::written;

namespace {

// Times of transfers, as "operation microbatch@start-finish", in the order of the list.
std::string transfers(const rehearsed& of, int rank) {
  std::ostringstream text;
  const char* gap = "";
  for (int i = of.of.starts[rank]; i < of.of.starts[rank + 1]; ++i) {
    const instruction& it = of.of.instructions[i];
    if (!is_transfer(it.what)) continue;
    text << gap << (is_send(it.what) ? "send " : "receive ") << it.microbatch << '@' << of.when.start[i]
         << '-' << of.when.finish[i];
    gap = ", ";
  }
  return text.str();
}
std::string times(const rehearsed& of, int rank) { return laws::times_of(of.of, of.when, rank); }

// One frozen module for each (from, to): a forward of `times[k]` on the one rank, and one on the other.
// Nothing but messages matters here.
rehearsed couriers(int ranks, const std::vector<std::array<int, 2>>& ways, const std::vector<double>& times,
                   const network& wires, delivery how) {
  score from;
  for (const auto& way : ways) {
    voice each = a_voice(2, 1);
    each.module = static_cast<std::int32_t>(from.voices().size());
    each.learns = false;
    from.add(each, [&](int stage) { return way[static_cast<std::size_t>(stage)]; });
  }
  for (int r = 0; r < ranks; ++r) {
    from.rank();
    for (int stage = 0; stage < 2; ++stage)
      for (int k = 0; k < from.voices().size(); ++k)
        if (ways[static_cast<std::size_t>(k)][static_cast<std::size_t>(stage)] == r)
          from.play(op::forward, k, stage, 0);
  }
  const program of = compile(from);
  cost_table costs = even_costs(of, {1, 0, 0, 0, 10});
  for (std::size_t k = 0; k < times.size(); ++k)
    costs.stages[static_cast<motet::isize>(2 * k)].forward = times[k];
  costs.wires = wires;
  return rehearse(of, costs, how);
}
constexpr network two_a_node{{}, {0, 5}, 2}, one_a_node{{}, {0, 5}, 1};  // ten bytes take two units
constexpr delivery both[] = {delivery::buffered, delivery::rendezvous};

}  // namespace

TEST_CASE("latency and bandwidth of one message") {
  const program of = compile(written(a_voice(2, 1), {"F0 B0", "F0 B0"}));
  cost_table costs = even_costs(of, {1, 1, 1, 0, 10, 5});
  costs.wires.inside = {.5, 5};
  const rehearsed buffered = rehearse(of, costs), meeting = rehearse(of, costs, delivery::rendezvous);
  for (const rehearsed* each : {&buffered, &meeting}) {
    CHECK(times(*each, 0) == "F0@0 B0@8");
    CHECK(times(*each, 1) == "F0@3.5 B0@4.5");
    CHECK(each->when.makespan == 10);
  }
  // Buffered, the send is over when the rows have left; with a rendezvous both ends are busy until they are
  // there.
  CHECK(transfers(buffered, 0) == "send 0@1-3, receive 0@8-8");
  CHECK(transfers(buffered, 1) == "receive 0@3.5-3.5, send 0@6.5-7.5");
  CHECK(transfers(meeting, 0) == "send 0@1-3.5, receive 0@6.5-8");
  CHECK(transfers(meeting, 1) == "receive 0@1-3.5, send 0@6.5-8");
}

TEST_CASE("messages of a channel leave one behind the other") {
  const program of = compile(written(a_voice(2, 3), {"F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"}));
  cost_table costs = even_costs(of, {1, 1, 0, 0, 10, 0});
  costs.wires.inside = {.5, 5};
  CHECK(transfers(rehearse(of, costs), 0) ==
        "send 0@1-3, send 1@3-5, send 2@5-7, receive 0@10-10, receive 1@11-11, receive 2@12-12");
  CHECK(times(rehearse(of, costs), 1) == "F0@3.5 F1@5.5 F2@7.5 B0@8.5 B1@9.5 B2@10.5");
  // A rendezvous also waits for the latency before the next one.
  CHECK(transfers(rehearse(of, costs, delivery::rendezvous), 0).substr(0, 40) ==
        "send 0@1-3.5, send 1@3.5-6, send 2@6-8.5");
}

TEST_CASE("a rendezvous waits for a receiver that comes late") {
  // One queue on each rank: rank 1 computes for another module before it receives.
  score from;
  voice each = a_voice(2, 1), busy = a_voice(1, 1);
  each.learns = busy.learns = false;
  busy.module = 1;
  from.add(each, [](int stage) { return stage; });
  from.add(busy, [](int) { return 1; });
  laws::play(from, "F0", 0, 0);
  from.rank();
  from.play(op::forward, 1, 0, 0);
  from.play(op::forward, 0, 1, 0);
  const program of = compile(from, {messages::in_compute});
  cost_table costs = even_costs(of, {1, 0, 0});
  costs.stages[2].forward = 5;
  CHECK(transfers(rehearse(of, costs), 0) == "send 0@1-1");
  CHECK(transfers(rehearse(of, costs, delivery::rendezvous), 0) == "send 0@5-5");
}

TEST_CASE("ranks of a node share its way out") {
  for (const delivery how : both) {
    // Two nodes of two ranks; both ranks of the first send to the second.
    const rehearsed equal = couriers(4, {{{0, 2}}, {{1, 3}}}, {1, 1}, two_a_node, how);
    CHECK(transfers(equal, 0) == "send 0@1-3");
    CHECK(transfers(equal, 1) == "send 0@3-5");
    // The message that is there first goes first.
    const rehearsed later = couriers(4, {{{0, 2}}, {{1, 3}}}, {1, .5}, two_a_node, how);
    CHECK(transfers(later, 0) == "send 0@2.5-4.5");
    CHECK(transfers(later, 1) == "send 0@0.5-2.5");
    // Each begins behind what held it up.
    const instruction* const all = later.of.instructions.data();
    const std::int32_t behind = later.when.after[1];
    CHECK((is_send(all[1].what) && is_send(all[behind].what) && later.of.rank_of(behind) == 1));
  }
}

TEST_CASE("and its way in; other ways are free") {
  for (const delivery how : both) {
    const rehearsed in = couriers(3, {{{0, 2}}, {{1, 2}}}, {1, 1}, one_a_node, how);
    CHECK(transfers(in, 0) == "send 0@1-3");
    CHECK(transfers(in, 1) == "send 0@3-5");
    const rehearsed apart = couriers(4, {{{0, 2}}, {{1, 3}}}, {1, 1}, one_a_node, how);
    CHECK(transfers(apart, 1) == "send 0@1-3");
    // Out and in are two ways.
    const rehearsed against = couriers(2, {{{0, 1}}, {{1, 0}}}, {1, 1}, one_a_node, how);
    CHECK(transfers(against, 0).substr(0, 10) == "send 0@1-3");
    CHECK(transfers(against, 1).substr(0, 10) == "send 0@1-3");
    // Inside a node every pair has a wire of its own.
    network inside = two_a_node;
    inside.inside = {0, 5};
    const rehearsed near = couriers(4, {{{0, 1}}, {{0, 1}}, {{2, 3}}}, {1, 1, 1}, inside, how);
    CHECK(transfers(near, 2) == "send 0@1-3");
  }
}

TEST_CASE("a shared link is given by time, whichever end of a rendezvous comes last") {
  // Module 0 goes from rank 0 to rank 2, module 1 from rank 1 to rank 3; rank 2 has another module's work
  // first, in its only queue.
  score from;
  for (int k = 0; k < 3; ++k) {
    voice each = a_voice(k < 2 ? 2 : 1, 1);
    each.module = k;
    each.learns = false;
    from.add(each, [&](int stage) { return k < 2 ? 2 * stage + k : 2; });
  }
  for (const std::vector<std::array<int, 2>>& order :
       {std::vector<std::array<int, 2>>{{0, 0}}, {{1, 0}}, {{2, 0}, {0, 1}}, {{1, 1}}}) {
    from.rank();
    for (const auto& [v, stage] : order) from.play(op::forward, v, stage, 0);
  }
  const program of = compile(from, {messages::in_compute});
  cost_table costs = even_costs(of, {1, 0, 0, 0, 10});
  costs.stages[2].forward = 2;  // module 1 is there at 2, module 0's receiver at 5
  costs.stages[4].forward = 5;
  costs.wires = two_a_node;
  const rehearsed found = rehearse(of, costs, delivery::rendezvous);
  CHECK(transfers(found, 0) == "send 0@5-7");
  CHECK(transfers(found, 1) == "send 0@2-4");
  // Module 0 waits for the link when both are there at the same moment.
  costs.stages[2].forward = 4;
  const rehearsed later = rehearse(of, costs, delivery::rendezvous);
  CHECK(transfers(later, 1) == "send 0@4-6");
  CHECK(transfers(later, 0) == "send 0@6-8");
}

TEST_CASE("what overlaps takes the sum of its parts, or what is known for it") {
  const program of = compile(written(a_voice(1, 2), {"F0 F1+ B0 B1"}));
  cost_table costs = even_costs(of, {1, 1, 1});
  CHECK(times(rehearse(of, costs), 0) == "F0@0 F1@1 B0@1 B1@4");
  costs.overlapped = 2.5;
  CHECK(times(rehearse(of, costs), 0) == "F0@0 F1@1 B0@1 B1@3.5");
  CHECK(rehearse(of, costs).when.makespan == 5.5);
  // A device with two chunks takes half.
  score chunks;
  voice two = a_voice(2, 2);
  two.chunks = 2;
  chunks.add(two, [](int) { return 0; });
  laws::play(chunks, "F0.0 F1.0 F0.1 F1.1+ B0.1 B1.1 B0.0 B1.0");
  const program folded = compile(chunks);
  cost_table halves = even_costs(folded, {1, 1, 1});
  halves.overlapped = 2.5;
  CHECK(times(rehearse(folded, halves), 0) == "F0@0 F1@0.5 F0@1 F1@1.5 B0@1.5 B1@2.75 B0@3.75 B1@4.75");
}

TEST_CASE("a pair waits for what each of the two needs") {
  // Rank 0's last forward overlaps with its first backward, which is there at 4.
  const program of = compile(written(a_voice(2, 2), {"F0 F1+ B0 B1", "F0 B0 F1 B1"}));
  const rehearsed found = rehearse(of, even_costs(of, {1, 1, 1}));
  CHECK(times(found, 1) == "F0@1 B0@2 F1@7 B1@8");
  CHECK(times(found, 0) == "F0@0 F1@4 B0@4 B1@10");
}

TEST_CASE("microbatches of unequal size") {
  const program of = compile(written(a_voice(1, 3), {"F0 B0 F1 B1 F2 B2"}));
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.scale = {1, 2, .5};
  CHECK(times(rehearse(of, costs), 0) == "F0@0 B0@1 F1@3 B1@5 F2@9 B2@9.5");
}

TEST_CASE("lanes beside the computation: loads, copies, gathered parameters") {
  program of = compile(written(a_voice(1, 2), {"F0 F1 B0 B1"}));
  const list<instruction> plain = of.instructions;
  of.instructions.clear();
  const auto put = [&](op what, int in, int microbatch) {
    of.instructions.push({what, static_cast<std::uint8_t>(in), false, 0, 0, 0, microbatch, -1});
  };
  put(op::gather_parameters, lane::reduce, -1);
  put(op::load, lane::copy, 0);
  of.instructions.push(plain[0]);
  put(op::offload, lane::copy, 0);
  put(op::load, lane::copy, 1);
  of.instructions.push(plain[1]);
  put(op::fetch, lane::copy, 0);
  of.instructions.append(plain.data() + 2, 3);
  of.starts[1] = static_cast<std::int32_t>(of.instructions.size());
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.gather = 3, costs.load = 1, costs.copy = 1.5, costs.update = .25;
  const rehearsed found = rehearse(of, costs);
  // F0 waits for the gather at 3; the copy lane: load 0-1, offload 4-5.5, load 5.5-6.5, fetch 6.5-8.
  CHECK(times(found, 0) == "F0@3 F1@6.5 B0@8 B1@10");
  CHECK(found.when.makespan == 12.25);
  CHECK(found.found.peak_live[0] == 2);
}

TEST_CASE("replicas sum their gradients when the last of them is there") {
  const program of = compile(replicate(written(a_voice(1, 1), {"F0 B0"}), 2));
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.stages[1].backward_weight = 4;
  costs.reduction = .5;
  costs.update = .25;
  const rehearsed found = rehearse(of, costs);
  for (const int first : {0, 4}) {
    CHECK(of.instructions[first + 2].what == op::reduce_gradient);
    CHECK(found.when.start[first + 2] == 6);
    CHECK(found.when.finish[first + 2] == 6.5);
    CHECK(found.when.start[first + 3] == 6.5);
  }
  CHECK(found.when.makespan == 6.75);
  CHECK(found.when.after[2] == 5);  // the slower one's backward
}

TEST_CASE("jitter makes each computation longer by up to its share") {
  const pipeline_shape shape{4, 250};
  const program of = compile(one_f_one_b::write(shape));
  cost_table costs = even_costs(of, {1, 1, 0});
  costs.jitter = .5;
  costs.seed = 3;
  const rehearsed found = rehearse(of, costs);
  double sum = 0, least = 2, most = 0;
  int count = 0;
  for (motet::isize i = 0; i < of.instructions.size(); ++i) {
    if (!is_compute(of.instructions[i].what)) continue;
    const double took = found.when.finish[i] - found.when.start[i];
    sum += took;
    least = std::min(least, took);
    most = std::max(most, took);
    ++count;
  }
  CHECK(least >= 1);
  CHECK(most < 1.5);
  CHECK(most - least > .49);
  CHECK(sum / count == doctest::Approx(1.25).epsilon(.02));
}

TEST_CASE("what check() refuses is refused here, with an empty timeline") {
  program of = compile(one_f_one_b::write({2, 2}));
  of.instructions[0].microbatch = 1;
  timeline when;
  when.makespan = 7;
  const finding found = simulate(of, even_costs(of, {}), when);
  CHECK((found.why == check(of).found.why && found.at == check(of).found.at));
  CHECK((when.makespan == 0 && when.start.empty()));
  const program narrow = compile(one_f_one_b::write({2, 2}), {messages::in_compute});
  CHECK(simulate(narrow, even_costs(narrow, {}), when, delivery::rendezvous).why == reason::deadlock);
  CHECK((when.makespan == 0 && when.start.empty() && when.finish.empty() && when.after.empty()));
  CHECK(simulate(narrow, even_costs(narrow, {}), when).ok());
  CHECK(simulate(program{}, cost_table{}, when).ok());
  CHECK(when.makespan == 0);
}

TEST_CASE("a large program keeps to its closed form") {
  const pipeline_shape shape{512, 64};
  const laws::rehearsed found = rehearse(one_f_one_b::write(shape), {1, 1, 1});
  CHECK(found.when.makespan == (64 + 511) * 3);
}

namespace {
constexpr double makespan_of_small() {
  const program of = compile(one_f_one_b::write({3, 4}));
  timeline when;
  simulate(of, even_costs(of, {1, 1, 1}), when);
  return when.makespan;
}
static_assert(makespan_of_small() == 18);
}  // namespace
