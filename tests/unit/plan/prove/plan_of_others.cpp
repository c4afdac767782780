// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/plan_of_others.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/check/buffers.hpp>

#include "schedule_laws.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace motet;

namespace {

// An eye behind whose glue, and an ear beside it, stand before a language model.
list<module_facts> senses(bool eye_learns) {
  list<module_facts> out{{.name = "eye", .layers = 4, .key_heads = 4, .frozen = !eye_learns},
                         {.name = "glue", .layers = 1, .attends = false},
                         {.name = "ear", .layers = 2, .key_heads = 4},
                         {.name = "talk", .layers = 8, .key_heads = 4}};
  for (isize k = 0; k < 3; ++k) out[k].meets = false;
  out[1].from = {0};
  out[3].from = {1, 2};
  return out;
}
void shuffle(laws::dice& roll, std::vector<std::int32_t>& all) {
  for (std::size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<std::size_t>(roll.below(static_cast<isize>(i)))]);
}
// Any order of the language model, and any degrees of the others on its ranks.
plan drawn(laws::dice& roll) {
  struct numbers {
    const char* name;
    int stages, chunks, parts;
  };
  constexpr numbers all[] = {{"1f1b", 4, 1, 7},        {"1f1b", 2, 1, 4},        {"gpipe", 3, 1, 4},
                             {"interleaved", 2, 2, 6}, {"interleaved", 4, 2, 8}, {"zb_h1", 4, 1, 6},
                             {"zb_h2", 3, 1, 7},       {"zb_v", 2, 2, 6},        {"zb_v", 4, 2, 9},
                             {"v_half", 4, 2, 8},      {"v_min", 2, 2, 7},       {"zb_auto", 2, 1, 5},
                             {"dualpipe_v", 2, 2, 6}};
  const numbers& which = all[roll.below(std::size(all))];
  degrees split{.stages = which.stages};
  const int way = roll.between(0, 3);
  if (way == 1) split.data = 2;
  if (way == 2) split.tensor = 2;
  if (way == 3) split.context = 2;
  plan out{{.ranks = static_cast<std::int32_t>(split.size())}, which.name, {}};
  for (const label name : {label("eye"), label("glue"), label("ear")}) {
    module_plan own;
    own.name = name;
    own.group = 1;
    own.multiplexed = true;
    own.ahead = roll.between(0, 2);
    own.microbatches = roll.below(2) == 0 ? which.parts : roll.between(1, 2 * which.parts);
    std::vector<std::int32_t> ranks;
    for (std::int32_t r = 0; r < split.size(); ++r) ranks.push_back(r);
    if (roll.below(2) == 0) shuffle(roll, ranks);
    degrees ways;
    const auto draw = [&](std::int32_t& to, int most) {
      if (const int found = roll.between(1, most); ways.size() * found <= split.size()) to = found;
    };
    if (roll.below(3) == 0) draw(ways.stages, name == label("glue") ? 1 : 2);
    if (roll.below(3) == 0) draw(ways.tensor, name == label("glue") ? 1 : 2);
    if (roll.below(3) == 0) draw(ways.context, name == label("glue") ? 1 : 2);
    draw(ways.data, 8);
    list<std::int32_t> has;
    for (int i = 0; i < ways.size(); ++i) has.push(ranks[static_cast<std::size_t>(i)]);
    own.on = mesh(ways, has);
    own.zero = roll.below(3) == 0 ? roll.between(1, 3) : 0;
    if (roll.below(4) == 0) own.lane = 1;
    out.modules.push(own);
  }
  module_plan talk = on_ranks("talk", 0, split, which.parts);
  talk.group = 1;
  talk.chunks = which.chunks;
  talk.zero = split.data > 1 ? roll.between(0, 3) : 0;
  out.modules.push(talk);
  return out;
}

}  // namespace

TEST_CASE("whatever is multiplexed, on any ranks of whoever has any order, runs to its end") {
  laws::dice roll(17);
  std::set<std::string> schedules;
  int together = 0;  // plans of which some multiplexed module is computed by several ranks at once
  for (int n = 0; n < 150; ++n) {
    CAPTURE(n);
    const bool learns = roll.below(2) == 0;
    const list<module_facts> facts = senses(learns);
    plan of = drawn(roll);
    if (!learns) of.modules[0].zero = 0;
    REQUIRE_MESSAGE(prove_plan(of, facts, 144).ok(), explain_plan(of, facts, 144));
    score order;
    REQUIRE(write_plan(of, facts, order, 144).ok());
    const program made = compile(order);
    const check_result found = check(made);
    REQUIRE_MESSAGE(found.ok(), explain(made, found));
    buffer_counts buffers;
    REQUIRE(count_buffers(made, buffers).ok());
    bool meets = false;
    for (isize k = 0; k < 3; ++k) meets = meets || of.modules[k].shards() > 1 || of.modules[k].zero > 1;
    together += meets ? 1 : 0;
    schedules.insert(std::string(of.schedule.view()));
  }
  CHECK(together > 50);
  CHECK(schedules.size() == 10);
}
TEST_CASE("the others of a plan are a plan, and their verdicts are told of the whole one's modules") {
  const list<module_facts> facts = senses(true);
  plan of{{.ranks = 2}, "interleaved", {}};
  for (const char* const name : {"eye", "glue", "ear"}) {
    of.modules.push(on_ranks(name, 0, {.data = 2}, 3));
    of.modules.back().multiplexed = true;
  }
  of.modules.push(on_ranks("talk", 0, {.stages = 2}, 3));
  of.modules[3].chunks = 2;
  for (module_plan& each : of.modules) each.group = 1;
  const detail::plan_of_others others(of, facts, &module_plan::multiplexed);
  REQUIRE(others.value().modules.size() == 1);
  CHECK(others.value().modules[0] == of.modules[3]);
  CHECK((others.facts()[0].meets && others.facts()[0].from.empty()));
  // Three microbatches do not divide among two ranks.
  const verdict found = prove_plan(of, facts, 12);
  CHECK((found.why == reason::microbatches_do_not_divide && found.where == 3));
}
TEST_CASE("one encoder may fill gaps of an order that another one is a part of") {
  const list<module_facts> facts = senses(true);
  plan of{{.ranks = 2}, "1f1b", {}};
  for (const char* const name : {"eye", "glue", "ear"}) {
    of.modules.push(on_ranks(name, 0, {.data = 2}, 4));
    of.modules.back().multiplexed = name[1] != 'a';
    of.modules.back().fills = name[1] == 'a';
  }
  of.modules.push(on_ranks("talk", 0, {.stages = 2}, 4));
  for (module_plan& each : of.modules) each.group = 1;
  REQUIRE_MESSAGE(prove_plan(of, facts, 16).ok(), explain_plan(of, facts, 16));
  score order;
  REQUIRE(write_plan(of, facts, order, 16).ok());
  CHECK(check(compile(order)).ok());
}
