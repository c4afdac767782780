// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/forwards_ahead.hpp>

#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/place/fill.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

using namespace motet;

namespace {

// A language model, behind it a drawer that ends in the loss, and in front an eye, where there is one.
list<module_facts> talk_and_draw(bool eye) {
  list<module_facts> out;
  out.push({.name = "talk", .layers = 24, .meets = false});
  out.push({.name = "draw", .layers = 4});
  out[1].from.push(0);
  if (!eye) return out;
  out.push({.name = "eye", .layers = 4, .meets = false});
  out[0].from.push(2);
  return out;
}
module_plan seat(const char* name, degrees split, int microbatches) {
  module_plan out = on_ranks(name, 0, split, microbatches);
  out.group = 1;
  return out;
}
double seconds_of(const score& order, const cost_table& costs) {
  timeline times;
  const finding found = simulate(compile(order, {messages::in_channels, false, false}), costs, times);
  return found.ok() ? times.makespan : -1;
}
// The forwards of one module, rank after rank, or all else of it.
std::vector<std::int64_t> cues_of(const score& order, std::int32_t module, bool forwards) {
  std::vector<std::int64_t> out;
  for (std::int32_t r = 0; r < order.ranks(); ++r) {
    out.push_back(-1 - r);
    for (std::int32_t i = order.begin_of(r); i < order.end_of(r); ++i) {
      const cue each = order[i];
      if (each.what == op::join || order.voices()[each.voice].module != module) continue;
      if (is_forward(each.what) != forwards) continue;
      const voice& of = order.voices()[each.voice];
      out.push_back((((static_cast<int>(each.what) * 64 + of.replica) * 64 + of.shard) * 64 + each.stage) *
                        64 +
                    each.microbatch);
    }
  }
  return out;
}
std::string words_of(const score& of, std::int32_t rank) {
  std::string out;
  for (std::int32_t i = of.begin_of(rank); i < of.end_of(rank); ++i)
    out += (of[i].what == op::join   ? "J"
            : is_forward(of[i].what) ? "F"
                                     : "B") +
           std::to_string(of[i].microbatch);
  return out;
}

// Each rank's cues in four lists, in each of which they keep their order: forwards and all else, of the
// language model and of what fills. All ways to put them into one in which each has its forward before.
void each_mix(const std::array<std::vector<cue>, 4>& lists, std::array<std::size_t, 4>& at,
              std::vector<cue>& so_far, std::vector<std::vector<cue>>& out) {
  bool any = false;
  for (std::size_t k = 0; k < lists.size(); ++k) {
    if (at[k] == lists[k].size()) continue;
    any = true;
    const cue& next = lists[k][at[k]];
    const auto ran = [&](const cue& each) {
      return each.what != op::join && is_forward(each.what) && each.voice == next.voice &&
             each.stage == next.stage && each.microbatch == next.microbatch;
    };
    if (k % 2 == 1 && std::ranges::none_of(so_far, ran)) continue;
    so_far.push_back(next);
    ++at[k];
    each_mix(lists, at, so_far, out);
    --at[k];
    so_far.pop_back();
  }
  if (!any) out.push_back(so_far);
}
double shortest_by_trying_all(const score& filled, const cost_table& costs) {
  std::array<std::vector<std::vector<cue>>, 2> mixes;
  for (std::int32_t r = 0; r < 2; ++r) {
    std::array<std::vector<cue>, 4> lists;
    for (std::int32_t i = filled.begin_of(r); i < filled.end_of(r); ++i) {
      const cue each = filled[i];
      const bool joins = each.what == op::join, fills = joins || filled.voices()[each.voice].module == 1;
      lists[static_cast<std::size_t>((fills ? 2 : 0) + (joins || is_forward(each.what) ? 0 : 1))].push_back(
          each);
    }
    std::array<std::size_t, 4> at{};
    std::vector<cue> so_far;
    each_mix(lists, at, so_far, mixes[static_cast<std::size_t>(r)]);
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

}  // namespace

TEST_CASE("forwards go ahead by parts of each rank's, in their order, and backwards keep theirs") {
  const score two = one_f_one_b::write({.stages = 2, .microbatches = 4});
  const filling none;
  CHECK(detail::most_ahead(two, none) == 4);
  const struct {
    int parts;
    const char* orders[2];
  } rows[] = {{0, {"F0F1B0F2B1F3B2B3", "F0B0F1B1F2B2F3B3"}},
              {1, {"F0F1F2B0F3B1B2B3", "F0F1B0F2B1F3B2B3"}},
              {3, {"F0F1F2F3B0B1B2B3", "F0F1F2F3B0B1B2B3"}}};
  for (const auto& each : rows) {
    const score found = detail::forwards_ahead(two, none, each.parts);
    for (const int r : {0, 1}) CHECK(words_of(found, r) == each.orders[r]);
    CHECK(prove(found).ok());
  }
  // A rank with twice as many forwards has twice as many ahead, and what overlapped does no more.
  const score pairs = dualpipe_v::write({.stages = 2, .microbatches = 6});
  const score apart = detail::forwards_ahead(pairs, none, detail::most_ahead(pairs, none));
  CHECK(words_of(apart, 0).find('F', words_of(apart, 0).find('B')) == std::string::npos);
  for (std::int32_t i = 0; i < apart.codes().size(); ++i) REQUIRE(!apart[i].paired);
  // Losses stay behind their forwards, and what fills is left out.
  const score all = joined(two, 4);
  CHECK(words_of(detail::forwards_ahead(all, none, 1), 1) == "F0J0F1J1B0F2J2B1F3J3B2B3");
  filling every;
  every.modules = {1};
  CHECK(detail::forwards_ahead(all, every, 1).codes().empty());
}

TEST_CASE("drawn drawers behind a language model, and eyes before it: proven, and no slower than unfilled") {
  laws::dice roll(5);
  const char* const schedules[] = {"1f1b",  "gpipe", "interleaved", "zb_h1",
                                   "zb_h2", "zb_v",  "v_half",      "dualpipe_v"};
  constexpr int wanted = 48;
  int legal = 0, compared = 0, slower = 0;
  double gained = 0, behind = 0;
  std::set<std::string> seen;
  for (int n = 0; n < 400 && legal < wanted; ++n) {
    CAPTURE(n);
    const char* const schedule = schedules[roll.below(8)];
    const std::string_view name = schedule;
    const int stages = 2 << roll.below(2), tensor = 1 << roll.below(2), data = 1 + roll.below(2),
              chunks = name == "interleaved"                                           ? 1 + roll.below(3)
                       : name == "1f1b" || name == "gpipe" || name.starts_with("zb_h") ? 1
                                                                                       : 2,
              draw_stages = 1 << roll.below(2), draw_tensor = roll.below(2) == 0 ? tensor : 1,
              ranks = stages * tensor * data, draw_data = ranks / (draw_stages * draw_tensor),
              parts = 2 * stages * (1 + roll.below(2)), all_parts = parts * data * tensor,
              draw_parts = all_parts / (draw_data * draw_tensor);
    if (draw_data < 1 || draw_parts < 1) continue;
    module_plan draw = seat("draw", {.stages = draw_stages, .data = draw_data, .tensor = draw_tensor},
                            draw_parts),
                talk = seat("talk", {.stages = stages, .data = data, .tensor = tensor}, parts);
    talk.chunks = chunks;
    draw.fills = true;
    draw.chunks = 1 + legal % 2;
    draw.forward_takes = 1 + roll.below(20);
    draw.backward_takes = draw.forward_takes * (1 + roll.below(2));
    talk.forward_takes = 20 + roll.below(60);
    if (data > 1 && roll.below(4) == 0) talk.zero = 2;
    if (draw_data > 1 && roll.below(4) == 0) draw.zero = 2;
    plan of;
    of.cluster.ranks = ranks;
    of.schedule = schedule;
    of.modules = {talk, draw};
    if (roll.below(2) == 0) {
      of.modules.push(draw);
      of.modules[2].name = "eye";
      of.modules[2].forward_takes /= 2;
    }
    const auto facts = talk_and_draw(of.modules.size() == 3);
    REQUIRE(check_plan(of, facts, motet::isize{all_parts} * 2).ok());
    score order;
    REQUIRE(write_plan(of, facts, order).ok());
    ++legal;
    seen.insert(schedule);
    const verdict proof = prove(order);
    REQUIRE_MESSAGE(proof.ok(), proof.why->sentence);
    const program made = compile(order);
    const check_result checked = check(made);
    REQUIRE_MESSAGE(checked.ok(), explain(made, checked));
    buffer_counts buffers;
    REQUIRE(count_buffers(made, buffers).ok());
    // The language model keeps the order of its forwards, and that of all else.
    plan others = of;
    others.modules = {talk};
    list<module_facts> facts_of_others{facts[0]};
    facts_of_others[0].from = {};
    facts_of_others[0].meets = true;
    score own;
    REQUIRE(write_plan(others, facts_of_others, own).ok());
    for (const bool forwards : {true, false})
      REQUIRE(cues_of(order, 0, forwards) == cues_of(own, 0, forwards));
    const cost_table costs = detail::costs_of_plan(of, facts, order);
    const double seconds = seconds_of(order, costs),
                 alone = seconds_of(own, detail::costs_of_plan(others, facts_of_others, own));
    REQUIRE(seconds >= alone - 1e-9);
    // What a rank computes of those that fill.
    double filler = 0;
    for (const module_plan& each : of.modules)
      if (each.fills) filler += (each.forward_takes + each.backward_takes) * draw_parts / draw_stages;
    behind += seconds / (alone + filler);
    plan plain = of;
    for (module_plan& each : plain.modules)
      if (each.fills) {
        each.fills = false;
        each.chunks = 1;
      }
    score other;
    if (!write_plan(plain, facts, other).ok()) continue;
    const double unfilled = seconds_of(other, detail::costs_of_plan(plain, facts, other));
    slower += seconds > unfilled + 1e-9 ? 1 : 0;
    gained += seconds / unfilled;
    ++compared;
  }
  MESSAGE("of ", compared, " ", slower, " are slower than without filling; on average ", gained / compared,
          " of the time, and ", behind / legal, " of the language model and what fills one behind the other");
  CHECK(legal == wanted);
  CHECK(behind / legal < 1.05);
  CHECK(seen.size() == 8);
  CHECK(compared > 10);
  CHECK(slower == 0);
  CHECK(gained / compared < 0.95);
}

TEST_CASE("small cases: against all orders of two ranks") {
  laws::dice roll(9);
  int best = 0, count = 0;
  double worst = 1;
  for (int n = 0; n < 12; ++n) {
    CAPTURE(n);
    const bool spread = n % 3 != 0;
    module_plan talk = seat("talk", {.stages = 2}, 2),
                draw = spread ? seat("draw", {.data = 2}, 1) : seat("draw", {}, 2);
    draw.fills = true;
    draw.forward_takes = 1 + roll.below(9);
    draw.backward_takes = 1 + roll.below(12);
    talk.forward_takes = 4 + roll.below(20);
    talk.backward_takes = 4 + roll.below(40);
    plan of;
    of.cluster.ranks = 2;
    of.schedule = "1f1b";
    of.modules = {talk, draw};
    const auto facts = talk_and_draw(false);
    REQUIRE(check_plan(of, facts, 12).ok());
    score order;
    REQUIRE(write_plan(of, facts, order).ok());
    const cost_table costs = detail::costs_of_plan(of, facts, order);
    const double got = seconds_of(order, costs), least = shortest_by_trying_all(order, costs);
    REQUIRE(least > 0);
    REQUIRE(got >= least - 1e-9);
    worst = std::max(worst, got / least);
    best += got < least + 1e-9 ? 1 : 0;
    ++count;
  }
  MESSAGE(best, " of ", count, " are shortest, at worst ", worst, " of the shortest");
  CHECK(best == count);
}

TEST_CASE("a drawer of 6 on one rank goes into its gap, where it has one behind its forwards") {
  const struct {
    const char* schedule;
    double alone, seconds[4];  // with the drawer on each rank
  } rows[] = {
      {"1f1b", 33, {33, 33, 36.75, 39}}, {"gpipe", 33, {33, 33.25, 37, 39}}, {"zb_h1", 27, {30, 31, 32, 33}}};
  for (const auto& each : rows)
    for (int rank = 0; rank < 4; ++rank) {
      CAPTURE(each.schedule);
      CAPTURE(rank);
      module_plan talk = seat("talk", {.stages = 4}, 8), draw = on_ranks("draw", rank, {}, 8);
      draw.group = 1;
      draw.fills = true;
      draw.forward_takes = 0.25;
      draw.backward_takes = 0.5;
      talk.forward_takes = 4;
      talk.backward_takes = 8;
      plan of;
      of.cluster.ranks = 4;
      of.schedule = each.schedule;
      of.modules = {talk, draw};
      const auto facts = talk_and_draw(false);
      score order;
      REQUIRE(write_plan(of, facts, order).ok());
      CHECK(seconds_of(order, detail::costs_of_plan(of, facts, order)) ==
            doctest::Approx(each.seconds[rank]));
      of.modules.pop();
      REQUIRE(write_plan(of, {facts[0]}, order).ok());
      CHECK(seconds_of(order, detail::costs_of_plan(of, facts, order)) == doctest::Approx(each.alone));
    }
}
