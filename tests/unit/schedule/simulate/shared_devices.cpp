// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_text.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/simulate/shared_devices.hpp>

#include "lane_scores.hpp"
#include "schedule_text.hpp"

#include <algorithm>
#include <array>

using namespace motet;
using laws::a_voice;

namespace {

struct lane_module {
  int lane = 0;
  double forward = 1, backward = 1;
};
// Modules of one rank that need nothing of each other, in the order of the rank's list; the last `apart` of
// them are on a second rank.
struct one_device {
  program of;
  timeline when;
  analysis found;
};
one_device on_one_device(const std::vector<lane_module>& modules, cost_table costs = {}, int apart = 0) {
  const auto here = static_cast<int>(modules.size()) - apart;
  score from;
  for (std::size_t k = 0; k < modules.size(); ++k) {
    voice each = a_voice(1, 1);
    each.module = static_cast<std::int32_t>(k);
    each.lane = modules[k].lane;
    from.add(each, [&](int) { return static_cast<int>(k) < here ? 0 : 1; });
    costs.stages.push({modules[k].forward, modules[k].backward, 0, 1});
  }
  from.rank();
  for (int k = 0; k < static_cast<int>(modules.size()); ++k) {
    if (k == here) from.rank();
    from.play(op::forward, k, 0, 0);
    from.play(op::backward, k, 0, 0);
  }
  CHECK(prove(from).ok());
  one_device out{compile(from, {.update = false}), {}, {}};
  REQUIRE(check(out.of).ok());
  REQUIRE(simulate(out.of, costs, out.when).ok());
  out.found = analyse(out.of, costs, out.when);
  return out;
}
void check_times(const one_device& of, const std::vector<std::array<double, 2>>& wanted) {
  REQUIRE(of.when.start.size() == static_cast<isize>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(of.when.start[static_cast<isize>(i)] == doctest::Approx(wanted[i][0]));
    CHECK(of.when.finish[static_cast<isize>(i)] == doctest::Approx(wanted[i][1]));
  }
}
cost_table shared(const list<double>& shares, const list<double>& beside = {}) {
  cost_table made;
  made.shares = shares;
  made.beside_others = beside;
  return made;
}

}  // namespace

TEST_CASE("where ranks share processors, lanes have those that other ranks leave, one each at most") {
  const std::vector<lane_module> modules = {{0, 2, 2}, {1, 2, 2}, {0, 1, 1}};
  cost_table costs;
  // Each rank by itself: the two lanes of the first have half of it each.
  check_times(on_one_device(modules, costs, 1), {{0, 4}, {4, 8}, {0, 4}, {4, 8}, {0, 1}, {1, 2}});
  // Two processors for three lanes, and for the two that go on.
  costs.processors = 2;
  check_times(on_one_device(modules, costs, 1), {{0, 3}, {3, 5}, {0, 3}, {3, 5}, {0, 1.5}, {1.5, 3}});
  // One slows the other on any processors.
  costs.beside_others = {1, .5};
  costs.processors = 8;
  check_times(on_one_device(modules, costs, 1), {{0, 2}, {2, 4}, {0, 4}, {4, 6}, {0, 1}, {1, 2}});
  // Where no rank has two lanes, ranks are as fast as they are.
  costs.processors = 1;
  check_times(on_one_device({{0, 2, 2}, {0, 1, 1}}, costs, 1), {{0, 2}, {2, 4}, {0, 1}, {1, 2}});
}

TEST_CASE("two lanes share a device while both are busy, and one by itself has it whole") {
  // Even shares: both forwards take twice as long, and the longer lane is alone at the end.
  const one_device even = on_one_device({{0, 2, 4}, {1, 1, 1}});
  check_times(even, {{0, 4}, {4, 8}, {0, 2}, {2, 4}});
  CHECK(even.found.ranks[0].busy == doctest::Approx(8));
  CHECK(even.found.bubble_rate == doctest::Approx(0));
  // A quarter and three quarters.
  check_times(on_one_device({{0, 3, 1}, {1, 1, 1}}, shared({.75, .25})),
              {{0, 4}, {4, 16. / 3}, {0, 4}, {4, 6}});
  // What they take from each other's memory and caches.
  check_times(on_one_device({{0, 2, 1}, {1, 1, 1}}, shared({.5, .5}, {.8, .5})),
              {{0, 5}, {5, 7.5}, {0, 4}, {4, 7.625}});
  // Three of equal shares, of which two have little to do.
  check_times(on_one_device({{0, 2, 1}, {1, 1, 0}, {2, .5, 0}}),
              {{0, 3.5}, {3.5, 4.5}, {0, 2.5}, {2.5, 2.5}, {0, 1.5}, {1.5, 1.5}});
  // Threads of their own, three and one of four: what one does not use is not the other's.
  cost_table own = shared({.75, .25}, {1, .8});
  own.by_itself = {.75, .25};
  check_times(on_one_device({{0, 3, 3}, {1, 1, 1}}, own), {{0, 4}, {4, 8}, {0, 5}, {5, 9.6}});
  // What both keep counts together.
  CHECK(even.found.peak_live[0] == 2);
  CHECK(even.found.peak_bytes[0] == 2);
}

TEST_CASE("modules of one lane run one behind the other, whichever it is") {
  for (const int lane : {0, 1, lane::most_computing - 1})
    check_times(on_one_device({{lane, 2, 3}, {lane, 1, 1}}), {{0, 2}, {2, 5}, {5, 6}, {6, 7}});
}

TEST_CASE("who computes together is as fast as the slowest of them") {
  // Both shards of module 0 in the first lanes of two ranks; on rank 1 another module has a lane beside.
  score from;
  for (int t = 0; t < 2; ++t) {
    voice each = a_voice(1, 1);
    each.shard = t;
    each.shards = 2;
    each.learns = false;
    from.add(each, [t](int) { return t; });
  }
  voice other = a_voice(1, 1);
  other.module = 1;
  other.lane = 1;
  other.learns = false;
  from.add(other, [](int) { return 1; });
  from.rank();
  from.play(op::forward, 0, 0, 0);
  from.rank();
  from.play(op::forward, 1, 0, 0);
  from.play(op::forward, 2, 0, 0);
  REQUIRE(prove(from).ok());
  const program of = compile(from);
  timeline when;
  REQUIRE(simulate(of, even_costs(of, {.forward = 2}), when).ok());
  for (const int i : {0, 1, 2}) {
    CHECK(when.start[i] == 0);
    CHECK(when.finish[i] == 4);
  }
}

TEST_CASE("lanes that meet other ranks meet them in one order") {
  // Two modules, each computed by both ranks together, in a lane of its own.
  const auto both = [](bool crossed) {
    score from;
    for (int k = 0; k < 2; ++k)
      for (int t = 0; t < 2; ++t) {
        voice each = a_voice(1, 1);
        each.module = each.lane = k;
        each.shard = t;
        each.shards = 2;
        each.learns = false;
        from.add(each, [t](int) { return t; });
      }
    for (int r = 0; r < 2; ++r) {
      from.rank();
      for (int k = 0; k < 2; ++k) from.play(op::forward, 2 * (crossed && r == 1 ? 1 - k : k) + r, 0, 0);
    }
    return from;
  };
  const program crossed = compile(both(true));
  CHECK(check(crossed).found.why == reason::deadlock);
  const score order = both(false);
  CHECK(prove(order).ok());
  const program of = compile(order);
  REQUIRE(check(of).ok());
  // One behind the other, though each lane has a device to itself meanwhile.
  timeline when;
  REQUIRE(simulate(of, even_costs(of, {.forward = 2}), when).ok());
  CHECK(when.finish[0] == 2);
  CHECK(when.start[1] == 2);
  CHECK(when.makespan == 4);
}

TEST_CASE("a lane is one of those that a rank can have, the same for all of a module") {
  for (const int lane : {-1, lane::most_computing}) {
    score from;
    voice each = a_voice(1, 1);
    each.lane = lane;
    from.add(each, [](int) { return 0; });
    laws::play(from, "F0 B0");
    CHECK(prove(from).why == reason::bad_structure);
  }
  std::mt19937 random(3);
  program of = compile(laws::draw_lane_score(random, {.sharded = false}));
  REQUIRE(check(of).ok());
  of.voices[0].lane = 7;
  CHECK(check(of).found.why == reason::bad_structure);
  for (voice& each : of.voices) each.module = 0, each.replica = 0;
  of.voices[0].lane = 1;
  of.voices[1].lane = 0;
  CHECK(check(of).found.why == reason::bad_structure);
}

TEST_CASE("drawn orders hold in any lanes, and no device is idle or does more than it can") {
  std::mt19937 random(79);
  int concurrent = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const laws::lane_draw how{
        .modules = 2 + round % 2, .lanes = 1 + round % 3, .ranks = 1 + round % 4, .sharded = round % 5 != 0};
    const score order = laws::draw_lane_score(random, how);
    const verdict proven = prove(order);
    REQUIRE(proven.ok());
    const program of = compile(order, {.update = false, .reduce = false});
    for (const delivery by : {delivery::buffered, delivery::rendezvous}) {
      const check_result found = check(of, by);
      REQUIRE_MESSAGE(found.ok(), explain(of, found));
    }
    buffer_counts buffers;
    REQUIRE(count_buffers(of, buffers).ok());
    CHECK(score_of(of) == order);
    CHECK(read_csv(write_csv(of)) == of);

    const cost_table costs = even_costs(of, {.forward = 1, .backward_input = 1, .backward_weight = 1});
    timeline when;
    REQUIRE(simulate(of, costs, when).ok());
    CHECK(draw_trace(of, when).find("nan") == std::string::npos);
    // Every lane in its order, and what meets others one behind the other on a rank.
    program_graph graph;
    build_graph(of, delivery::buffered, graph);
    for (int r = 0; r < of.ranks(); ++r) {
      double busy = 0, ends[256] = {}, met = 0, first = 1e9, last = 0;
      bool meets = false;
      for (int i = of.starts[r]; i < of.starts[r + 1]; ++i) {
        const instruction& it = of.instructions[i];
        if (!is_compute(it.what)) continue;
        CHECK(when.start[i] >= ends[it.lane]);
        if (it.lane != lane::compute && when.start[i] < ends[lane::compute]) ++concurrent;
        ends[it.lane] = when.finish[i];
        busy += costs.seconds(of, it);
        first = std::min(first, when.start[i]);
        last = std::max(last, when.finish[i]);
        CHECK(when.finish[i] - when.start[i] >= costs.seconds(of, it) - 1e-9);
        if (graph.meetings[i] < 0) continue;
        meets = true;
        CHECK(when.start[i] >= met - 1e-9);
        met = when.finish[i];
      }
      // All that a device did by itself it has done in the time in which some lane was busy.
      const rank_time own = analyse(of, costs, when).ranks[r];
      if (busy > 0) CHECK(own.busy + own.idle() == doctest::Approx(when.makespan));
      if (!meets) CHECK(own.busy == doctest::Approx(busy));
    }
  }
  CHECK(concurrent > 200);
}

TEST_CASE("pictures show every lane that computes") {
  const one_device two = on_one_device({{0, 2, 4}, {1, 1, 1}});
  const std::string text = draw_text(two.of, two.when, {.width = 60}), svg = draw_svg(two.of, two.when);
  CHECK(text.find("  lane 1") != std::string::npos);
  CHECK_MESSAGE(text.find("bubble 0.0 %") != std::string::npos, text);
  CHECK(draw_trace(two.of, two.when).find("\"compute 1\"") != std::string::npos);
  CHECK(svg.find(">bB1: ") != std::string::npos);
}
