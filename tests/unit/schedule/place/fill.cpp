// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/place/fill.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

#include <ranges>
#include <set>

using namespace motet;

namespace {

// An eye in front of a language model; a glue between them, where there is one.
list<module_facts> eye_and_talk(motet::isize eye_layers, motet::isize layers, bool frozen) {
  module_facts eye, talk;
  eye.name = "eye";
  eye.layers = eye_layers;
  eye.frozen = frozen;
  eye.meets = false;
  talk.name = "talk";
  talk.layers = layers;
  talk.from = {0};
  return {eye, talk};
}
module_plan seat(const char* name, degrees split, int microbatches) {
  module_plan out = on_ranks(name, 0, split, microbatches);
  out.group = 1;
  return out;
}
plan two_modules(const char* schedule, std::int32_t ranks, module_plan eye, module_plan talk) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = schedule;
  out.modules = {std::move(eye), std::move(talk)};
  return out;
}
double seconds_of(const score& order, const cost_table& costs) {
  timeline times;
  const finding found = simulate(compile(order, {messages::in_channels, false, false}), costs, times);
  return found.ok() ? times.makespan : -1;
}
// The cues of one module, rank after rank, without the voices' numbers.
std::vector<std::int64_t> cues_of(const score& order, std::int32_t module) {
  std::vector<std::int64_t> out;
  for (std::int32_t r = 0; r < order.ranks(); ++r) {
    out.push_back(-1 - r);
    for (std::int32_t i = order.begin_of(r); i < order.end_of(r); ++i) {
      const cue each = order[i];
      const bool joins = each.what == op::join;
      if (!joins && order.voices()[each.voice].module != module) continue;
      const std::int64_t kind = static_cast<int>(each.what) + (each.paired ? 32 : 0) + (each.aside ? 64 : 0);
      const voice none, &of = joins ? none : order.voices()[each.voice];
      out.push_back((((kind * 64 + of.replica) * 64 + of.shard) * 64 + each.stage) * 64 + each.microbatch);
    }
  }
  return out;
}

// All orders in which one rank can put the cues of a filler's microbatch among its others, both in their
// order.
void each_mix(const std::vector<cue>& others, const std::vector<cue>& fillers, std::vector<cue>& so_far,
              std::size_t other, std::size_t filler, std::vector<std::vector<cue>>& out) {
  if (other == others.size() && filler == fillers.size()) out.push_back(so_far);
  const auto step = [&](const cue& next, std::size_t others_done, std::size_t fillers_done) {
    so_far.push_back(next);
    each_mix(others, fillers, so_far, others_done, fillers_done, out);
    so_far.pop_back();
  };
  if (other < others.size()) step(others[other], other + 1, filler);
  if (filler < fillers.size()) step(fillers[filler], other, filler + 1);
}
double shortest_by_trying_all(const score& filled, const cost_table& costs) {
  std::vector<std::vector<std::vector<cue>>> mixes;
  for (std::int32_t r = 0; r < filled.ranks(); ++r) {
    std::vector<cue> others, fillers, so_far;
    for (std::int32_t i = filled.begin_of(r); i < filled.end_of(r); ++i) {
      const cue each = filled[i];
      const bool of_others = each.what == op::join || filled.voices()[each.voice].module == 1;
      (of_others ? others : fillers).push_back(each);
    }
    mixes.emplace_back();
    each_mix(others, fillers, so_far, 0, 0, mixes.back());
  }
  double best = -1;
  for (const auto& first : mixes[0])
    for (const auto& second : mixes[1]) {
      score trial;
      for (const voice& each : filled.voices()) trial.add(each, [&](int s) { return filled.place(each, s); });
      trial.feed_as(filled.feeds());
      for (const auto* rank : {&first, &second}) {
        trial.rank();
        for (const cue& each : *rank) {
          if (each.what == op::join) trial.join(each.voice, each.microbatch, each.aside);
          else trial.play(each.what, each.voice, each.stage, each.microbatch);
        }
      }
      if (!prove(trial).ok()) continue;
      const double seconds = seconds_of(trial, costs);
      if (seconds >= 0 && (best < 0 || seconds < best)) best = seconds;
    }
  return best;
}

// A pipeline alone, and what lies beside it on one rank: a forward, which one microbatch waits for and no
// gradient comes back to. What feeds the others takes no time and stands where they begin.
struct one_filler {
  score order;
  filling how;
  one_filler(const score& alone, std::int32_t rank, double seconds, std::int32_t fed, stage_cost each,
             double wire, std::int32_t slices = 1) {
    const voice talk = alone.voices()[0];
    voice eye;
    eye.module = 1;
    eye.stages = eye.chunks = slices;
    eye.learns = false;
    order.add(talk, [&](int s) { return alone.place(talk, s); });
    order.add(eye, [&](int) { return rank; });
    eye.replica = 1;
    eye.microbatches = talk.microbatches - 1;
    order.add(eye, [&](int) { return alone.place(talk, 0); });
    for (std::int32_t m = 0; m < talk.microbatches; ++m)
      order.feed(m == fed ? fed_cell{1, 0, 0, m} : fed_cell{2, m < fed ? m : m - 1, 0, m});
    for (std::int32_t r = 0; r < alone.ranks(); ++r) {
      order.rank();
      for (std::int32_t i = alone.begin_of(r); i < alone.end_of(r); ++i) {
        const cue it = alone[i];
        order.play(it.what, it.voice, it.stage, it.microbatch);
        if (it.paired) order.pair_with_next();
      }
    }
    how.modules = {0, 1};
    how.costs.stages.resize(alone.places().size(), each);
    for (std::int32_t s = 0; s < slices; ++s) how.costs.stages.push({seconds / slices, 0, 0});
    for (std::int32_t s = 0; s < slices; ++s) how.costs.stages.push({0, 0, 0});
    how.costs.wires.inside.latency = wire;
  }
  double longer() const {
    filled_score found;
    REQUIRE(fill_gaps(order, how, found).ok());
    const verdict proof = prove(found.order);
    REQUIRE_MESSAGE(proof.ok(), proof.why->sentence);
    REQUIRE(seconds_of(found.order, how.costs) == doctest::Approx(found.seconds));
    return found.seconds - found.alone_seconds;
  }
};

}  // namespace

TEST_CASE("what fits into a gap makes nobody late, what is a little longer waits for another gap") {
  const struct {
    double seconds;
    std::int32_t fed;  // the microbatch
    double wire, longer;
  } rows[] = {
      // On the second of three ranks: a gap until the first rows come, and one until the first gradients.
      {4, 1, 0, 0}, {4.01, 3, 0, 0}, {8, 3, 0, 0},  {8.01, 3, 0, 0.01},
      {5, 3, 1, 0}, {5.01, 3, 1, 0}, {10, 3, 1, 0}, {10.01, 3, 1, 0.01},
  };
  const score alone = one_f_one_b::write({.stages = 3, .microbatches = 6});
  for (const auto& each : rows) {
    CAPTURE(each.seconds);
    CAPTURE(each.wire);
    CHECK(one_filler(alone, 1, each.seconds, each.fed, {4, 4, 4}, each.wire).longer() ==
          doctest::Approx(each.longer));
  }
}
TEST_CASE("slices go into several gaps, and what all gaps together have not makes the step longer") {
  const struct {
    double seconds;
    std::int32_t slices;
    double longer;
  } rows[] = {{12, 1, 4}, {12, 2, 2}, {12, 3, 0}, {12.03, 3, 0.03}, {8, 2, 0}, {8.02, 2, 0.01}};
  const score alone = one_f_one_b::write({.stages = 3, .microbatches = 6});
  for (const auto& each : rows) {
    CAPTURE(each.seconds);
    CAPTURE(each.slices);
    CHECK(one_filler(alone, 1, each.seconds, 3, {4, 4, 4}, 0, each.slices).longer() ==
          doctest::Approx(each.longer));
  }
}
TEST_CASE("a filler as long as a gap makes no schedule longer") {
  laws::dice roll(11);
  std::set<std::string> seen;
  int tried = 0;
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    const char* const names[] = {"gpipe", "1f1b",   "interleaved", "zb_h1",   "zb_h2",
                                 "zb_v",  "v_half", "v_min",       "zb_auto", "dualpipe_v"};
    const char* const name = names[n % 10];
    const int stages = 2 + roll.below(3), microbatches = stages * (2 + roll.below(2));
    const double wire = roll.below(2) * 0.25;
    const stage_cost each{1.0 + roll.below(9), 1.0 + roll.below(9), 1.0 + roll.below(9)};
    score alone;
    if (!write_schedule(name, {.stages = stages, .microbatches = microbatches}, alone).ok()) continue;
    const program of = compile(alone, {messages::in_channels, false, false});
    cost_table costs = even_costs(of, each);
    costs.stages.clear();
    costs.stages.resize(of.places.size(), each);
    costs.wires.inside.latency = wire;
    timeline times;
    REQUIRE(simulate(of, costs, times).ok());
    // One of the gaps of a rank, and the first microbatch that begins behind it. Not of the first rank, where
    // a filler may go before what waits for another one.
    const std::int32_t rank = 1 + roll.below(stages - 1);
    struct slot {
      double start, end;
    };
    std::vector<slot> gaps;
    double end = 0;
    for (const std::int32_t i : std::views::iota(of.starts[rank], of.starts[rank + 1])) {
      if (!is_compute(of.instructions[i].what)) continue;
      if (times.start[i] > end + 1e-9) gaps.push_back({end, times.start[i]});
      end = times.finish[i];
    }
    if (gaps.empty()) continue;
    const slot gap = gaps[static_cast<std::size_t>(roll.below(static_cast<int>(gaps.size())))];
    std::int32_t fed = -1;
    double begins = 1e300;
    for (motet::isize i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (it.what != op::forward || it.stage != 0 || times.start[i] < gap.end + wire - 1e-9) continue;
      if (times.start[i] < begins) begins = times.start[i], fed = it.microbatch;
    }
    if (fed < 0) continue;
    CAPTURE(name);
    CHECK(one_filler(alone, rank, gap.end - gap.start, fed, each, wire).longer() ==
          doctest::Approx(0).scale(1));
    seen.insert(name);
    ++tried;
  }
  MESSAGE(tried, " gaps");
  CHECK(tried > 40);
  CHECK(seen.size() == 10);
}
TEST_CASE("drawn fillings keep the others' order, are proven, and take the time that they say") {
  laws::dice roll(7);
  const char* const schedules[] = {"1f1b",  "gpipe", "interleaved", "zb_h1",
                                   "zb_h2", "zb_v",  "v_half",      "dualpipe_v"};
  int legal = 0, refused_room = 0, refused_gaps = 0;
  std::set<std::string> seen;
  int compared = 0, slower = 0, cut = 0, shorter = 0, longer = 0;
  double gained = 0, sliced = 0;
  constexpr int wanted = 80;
  for (int n = 0; n < 1600 && legal < wanted; ++n) {
    CAPTURE(n);
    const char* const schedule = schedules[roll.below(8)];
    const std::string_view name = schedule;
    const int stages = 1 << roll.below(3), tensor = 1 << roll.below(2), data = 1 + roll.below(2),
              chunks = name == "interleaved"                                           ? 1 + roll.below(3)
                       : name == "1f1b" || name == "gpipe" || name.starts_with("zb_h") ? 1
                                                                                       : 2,
              eye_stages = 1 << roll.below(2), eye_tensor = roll.below(2) == 0 ? tensor : 1,
              ranks = stages * tensor * data, eye_data = ranks / (eye_stages * eye_tensor),
              parts = 2 * stages * (1 + roll.below(3)) * (1 + roll.below(2));
    if (eye_data < 1) continue;
    const int all_parts = parts * data * tensor, eye_parts = all_parts / (eye_data * eye_tensor);
    if (eye_parts < 1) continue;
    module_plan eye = seat("eye", {.stages = eye_stages, .data = eye_data, .tensor = eye_tensor},
                           roll.below(3) == 0 && eye_parts % 2 == 0 ? eye_parts / 2 : eye_parts),
                talk = seat("talk", {.stages = stages, .data = data, .tensor = tensor}, parts);
    talk.chunks = chunks;
    eye.fills = true;
    eye.chunks = 1 + legal % 2;
    eye.room = roll.below(3) == 0 ? 1 + roll.below(3) : 0;
    eye.forward_takes = 1 + roll.below(20);
    eye.backward_takes = eye.forward_takes * (1 + roll.below(2));
    talk.forward_takes = 20 + roll.below(60);
    if (data > 1 && roll.below(4) == 0) talk.zero = 2;
    if (eye_data > 1 && roll.below(4) == 0) eye.zero = 2;
    const bool frozen = eye.zero == 0 && roll.below(5) == 0;
    const auto facts = eye_and_talk(4, 24, frozen);
    const plan of = two_modules(schedule, ranks, eye, talk);
    const motet::isize batch = motet::isize{all_parts} * 2;
    if (!check_plan(of, facts, batch).ok()) continue;
    score order;
    const verdict found = write_plan(of, facts, order);
    if (!found.ok()) {
      refused_room += found.why == reason::too_little_memory ? 1 : 0;
      CHECK_MESSAGE((found.why == reason::too_little_memory || found.why == reason::no_gaps || eye.room == 0),
                    found.why->sentence);
      CHECK(found.why != reason::deadlock);
      refused_gaps += found.why == reason::no_gaps ? 1 : 0;
      // The room that is asked for is enough, and one less is not.
      if (found.why == reason::too_little_memory && eye.room > 0) {
        plan roomy = of;
        roomy.modules[0].room = static_cast<std::int32_t>(found.wanted);
        score other;
        CHECK(write_plan(roomy, facts, other).ok());
        --roomy.modules[0].room;
        CHECK(write_plan(roomy, facts, other).why == reason::too_little_memory);
      }
      // One stage never waits.
      CHECK((found.why != reason::no_gaps || (stages == 1 && found.wanted > 0)));
      continue;
    }
    ++legal;
    seen.insert(schedule);
    const verdict proof = prove(order);
    REQUIRE_MESSAGE(proof.ok(), proof.why->sentence);
    const program made = compile(order);
    const check_result checked = check(made);
    REQUIRE_MESSAGE(checked.ok(), explain(made, checked));
    buffer_counts buffers;
    REQUIRE(count_buffers(made, buffers).ok());
    // The language model plays what it plays alone.
    plan others = of;
    others.modules = {talk};
    auto facts_of_others = facts;
    facts_of_others = {facts[1]};
    facts_of_others[0].from = {};
    score own;
    REQUIRE(write_plan(others, facts_of_others, own).ok());
    REQUIRE(cues_of(order, 1) == cues_of(own, 0));
    // The simulator finds what fill_gaps() says.
    const cost_table costs = detail::costs_of_plan(of, facts, order);
    filling how;
    how.modules = {1, 0};
    how.costs = costs;
    how.room = eye.room;
    filled_score again;
    REQUIRE(fill_gaps(order, how, again).ok());
    REQUIRE(again.order == order);
    REQUIRE(seconds_of(order, costs) == doctest::Approx(again.seconds));
    REQUIRE(again.alone_seconds ==
            doctest::Approx(seconds_of(own, detail::costs_of_plan(others, facts_of_others, own))));
    REQUIRE(again.seconds >= again.alone_seconds - 1e-9);
    if (eye.room == 0)
      REQUIRE(again.seconds <= again.alone_seconds + 2 * again.filler_seconds * eye_stages + 1e-9);
    if (eye.room > 0 && !frozen)
      for (std::int32_t p = 0; p < made.slots.size(); ++p) {
        bool of_eye = false;
        for (const voice& each : made.voices)
          of_eye =
              of_eye || (each.module == 0 && p >= each.first_place && p < each.first_place + each.stages);
        if (of_eye) REQUIRE(made.slots[p] <= eye.room);
      }
    if (eye.room == 0 && eye.chunks > 1) {
      plan whole = of;
      whole.modules[0].chunks = 1;
      score uncut;
      REQUIRE(write_plan(whole, facts, uncut).ok());
      const double seconds = seconds_of(uncut, detail::costs_of_plan(whole, facts, uncut));
      sliced += again.seconds / seconds;
      ++cut;
      longer += again.seconds > seconds + 1e-9 ? 1 : 0;
      shorter += again.seconds < seconds - 1e-9 ? 1 : 0;
    }
    // Modules of unlike times, beside one another in the order of a schedule that knows of no times.
    if (eye.room > 0 || (name != "1f1b" && name != "gpipe")) continue;
    plan unfilled = of;
    unfilled.modules[0].fills = false;
    unfilled.modules[0].chunks = 1;
    score plain;
    if (!write_plan(unfilled, facts, plain).ok()) continue;
    const double seconds = seconds_of(plain, detail::costs_of_plan(unfilled, facts, plain));
    slower += again.seconds > seconds + 1e-9 ? 1 : 0;
    gained += again.seconds / seconds;
    ++compared;
  }
  CHECK(legal == wanted);
  CHECK(seen.size() == 8);
  CHECK(refused_room > 2);
  CHECK(refused_gaps > 2);
  CHECK(compared > 10);
  MESSAGE("of ", compared, " on the same ranks ", slower, " are slower than without filling; on average ",
          gained / compared, " of the time");
  MESSAGE(shorter, " of ", cut, " are shorter in slices, on average ", sliced / cut, " of the time");
  CHECK(longer == 0);
  CHECK(shorter > 0);
  CHECK(slower == 0);
  CHECK(gained / compared < 0.98);
}

TEST_CASE("small cases: against all orders that there are") {
  laws::dice roll(3);
  double worst = 1, sum = 0;
  int count = 0, best = 0;
  for (int n = 0; n < 16; ++n) {
    CAPTURE(n);
    const int parts = 2 + roll.below(3);
    module_plan eye = seat("eye", {.data = 2}, 1), talk = seat("talk", {.stages = 2}, parts);
    eye.fills = true;
    eye.chunks = parts == 2 ? 2 : 1;
    eye.forward_takes = 1 + roll.below(9);
    eye.backward_takes = 1 + roll.below(12);
    talk.forward_takes = 4 + roll.below(20);
    talk.backward_takes = 4 + roll.below(40);
    const auto facts = eye_and_talk(4, 8, false);
    const plan of = two_modules(roll.below(3) == 0 ? "gpipe" : "1f1b", 2, eye, talk);
    score order;
    if (!check_plan(of, facts, 24).ok()) continue;
    REQUIRE(write_plan(of, facts, order).ok());
    const cost_table costs = detail::costs_of_plan(of, facts, order);
    const double got = seconds_of(order, costs), least = shortest_by_trying_all(order, costs);
    REQUIRE(least > 0);
    REQUIRE(got >= least - 1e-9);
    worst = std::max(worst, got / least);
    sum += got / least;
    best += got < least + 1e-9 ? 1 : 0;
    ++count;
  }
  MESSAGE(best, " of ", count, " are shortest, on average ", sum / count, " of the shortest, at worst ",
          worst);
  CHECK(count > 10);
  CHECK(best == count);
}

TEST_CASE("an eye that is longer than the gaps goes into them in slices") {
  const struct {
    const char* schedule;
    std::int32_t chunks;
    double seconds[3];  // with 1, 2 and 4 slices of the eye
  } rows[] = {
      {"1f1b", 1, {672, 656, 656}}, {"interleaved", 2, {632, 600, 600}}, {"zb_h1", 1, {608, 608, 608}}};
  for (const auto& each : rows)
    for (int k = 0; k < 3; ++k) {
      CAPTURE(each.schedule);
      CAPTURE(k);
      module_plan eye = seat("eye", {.data = 4}, 2), talk = seat("talk", {.stages = 4}, 8);
      eye.fills = true;
      eye.chunks = 1 << k;
      eye.forward_takes = 32;
      talk.chunks = each.chunks;
      talk.forward_takes = 64;
      const auto facts = eye_and_talk(4, 8, false);
      const plan of = two_modules(each.schedule, 4, eye, talk);
      score order;
      REQUIRE(write_plan(of, facts, order).ok());
      REQUIRE(prove(order).ok());
      CHECK(seconds_of(order, detail::costs_of_plan(of, facts, order)) == doctest::Approx(each.seconds[k]));
    }
}
TEST_CASE("modules come in any order") {
  const auto facts = eye_and_talk(4, 8, false);
  module_plan eye = seat("eye", {.data = 2}, 2), talk = seat("talk", {.stages = 2}, 4);
  eye.fills = true;
  const plan of = two_modules("1f1b", 2, eye, talk), turned = two_modules("1f1b", 2, talk, eye);
  auto other = list<module_facts>{facts[1], facts[0]};
  other[0].from = {1};
  score order, again;
  REQUIRE(write_plan(of, facts, order).ok());
  REQUIRE(write_plan(turned, other, again).ok());
  CHECK(prove(again).ok());
  CHECK(cues_of(order, 0) == cues_of(again, 1));
  CHECK(cues_of(order, 1) == cues_of(again, 0));
}
