// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/check/buffers.hpp>

#include "unit/plan/random_plans.hpp"

#include <set>

using namespace motet;

TEST_CASE("every plan that passes its rules and its schedule's is a program that runs to its end") {
  list<module_facts> facts = tower_facts();
  laws::dice roll(11);
  int legal = 0, spread = 0, frozen = 0;
  std::set<std::string> schedules;
  for (int n = 0; n < 4000 && legal < 600; ++n) {
    CAPTURE(n);
    facts[2].frozen = roll.below(2) == 0;
    const plan of = random_plan(roll, facts);
    if (!prove_plan(of, facts, 72).ok()) continue;
    ++legal;
    frozen += facts[2].frozen ? 1 : 0;
    schedules.insert(std::string(of.schedule.view()));
    score order;
    REQUIRE(write_plan(of, facts, order).ok());
    REQUIRE(order.ranks() == of.cluster.ranks);
    isize voices = 0;
    for (const module_plan& own : of.modules) voices += own.on.split().data * own.shards();
    REQUIRE(order.voices().size() == voices);
    for (const voice& each : order.voices()) {
      const module_plan& own = of.modules[each.module];
      REQUIRE((each.stages == own.stages() && each.shards == own.shards() && each.joins() == own.groups() &&
               each.join == 0));
      REQUIRE(each.learns == !facts[each.module].frozen);
      spread += each.shards > 1 && own.on.split().data > 1 ? 1 : 0;
      for (std::int32_t s = 0; s < each.stages; ++s) {
        const mesh_position at = own.on.position(own.on.find(order.place(each, s)));
        REQUIRE((at.replica == each.replica && at.context * own.on.split().tensor + at.tensor == each.shard));
        if (own.chunks == 1) REQUIRE(at.stage == s);
      }
    }
    const program of_plan = compile(order);
    const check_result found = check(of_plan);
    REQUIRE_MESSAGE(found.ok(), explain(of_plan, found));
    buffer_counts buffers;
    REQUIRE(count_buffers(of_plan, buffers).ok());
  }
  CHECK(legal == 600);
  CHECK(spread > 300);
  CHECK((frozen > 100 && frozen < 500));
  CHECK(schedules.size() >= 7);
}

TEST_CASE("one rank for each stage of each replica is the schedule itself, beside another") {
  plan of{{.ranks = 3}, "gpipe", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.stages = 2}, 4));
  of.modules.push(on_ranks("caption", 2, {}, 4));
  score order;
  REQUIRE(write_plan(of, {{.name = "picture", .layers = 2}, {.name = "caption"}}, order).ok());
  score expected = joined(beside(gpipe::write({2, 4}), gpipe::write({1, 4})), 1);
  CHECK(order.codes() == expected.codes());
}

TEST_CASE("numbers that a schedule does not have are refused") {
  const list<module_facts> facts{{.name = "picture", .layers = 4}, {.name = "caption", .layers = 4}};
  plan of{{.ranks = 2}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {}, 2));
  of.modules.push(on_ranks("caption", 1, {}, 2));
  score order;
  CHECK(write_plan(of, facts, order).ok());
  of.modules[1].chunks = 2;
  CHECK((write_plan(of, facts, order).why == reason::chunks_are_fixed &&
         write_plan(of, facts, order).where == 1));
  of.modules[1].chunks = 1;
  of.modules[1].stash = 1;
  CHECK(write_plan(of, facts, order).ok());
  of.schedule = "gpipe";
  CHECK((write_plan(of, facts, order).why == reason::only_batch_sync_keeps &&
         write_plan(of, facts, order).where == 1));
  of.modules[1].stash = -1;
  of.modules[1].ahead = 1;
  CHECK(write_plan(of, facts, order).why == reason::only_batch_sync_keeps);
  of.modules[1].ahead = 0;
  CHECK(write_plan(of, facts, order).ok());
  of.schedule = "zb_v";
  CHECK(write_plan(of, facts, order).why == reason::chunks_are_fixed);
  of.schedule = "zb_h1";
  of.modules[1].group = of.modules[0].group = 1;
  CHECK(write_plan(of, facts, order).ok());
  of.modules[1].remade = {0};
  CHECK(write_plan(of, facts, order).ok());
  of.modules[1].remade = {1};
  CHECK((write_plan(of, facts, order).why == reason::remade_and_split &&
         write_plan(of, facts, order).where == 1));
  of.schedule = "1f1b";
  CHECK(write_plan(of, facts, order).ok());
  of.schedule = "zbv";
  CHECK(write_plan(of, facts, order).why == reason::unknown_schedule);
}

TEST_CASE("ranks that cut the same samples are fed by all that have some of them, where all is cut alike") {
  const degrees split{.data = 2, .context = 2, .tensor = 2};
  for (const bool beside : {false, true})
    for (const bool at_once : {false, true}) {
      plan of{{.ranks = beside ? 16 : 8}, at_once ? "gpipe" : "1f1b", {}};
      of.modules.push(on_ranks("eye", 0, split, 3));
      of.modules.push(on_ranks("talk", beside ? 8 : 0, split, 3));
      for (module_plan& each : of.modules) each.group = at_once ? 0 : 1;
      // Either end may have parts of samples, or both.
      for (const bool gives : {false, true}) {
        score fed;
        REQUIRE(write_plan(of,
                           {{.name = "eye", .meets = false, .gives_parts = true},
                            {.name = "talk", .from = {0}, .takes_parts = gives}},
                           fed, 13)
                    .ok());
        CHECK(fed.feeds().size() == 8 * 2 * 3);
      }
      score order;
      REQUIRE(write_plan(
                  of, {{.name = "eye", .meets = false}, {.name = "talk", .from = {0}, .takes_parts = true}},
                  order, 13)
                  .ok());
      CHECK(order.feeds().size() == 8 * 2 * 3);
      for (const fed_cell& each : order.feeds()) {
        const voice &from = order.voices()[each.from], &to = order.voices()[each.to];
        CHECK((from.module == 0 && to.module == 1 && from.replica == to.replica));
        CHECK((from.shard % 2 == to.shard % 2 && each.from_microbatch == each.to_microbatch));
      }
      const program made = compile(order);
      const check_result found = check(made);
      REQUIRE_MESSAGE(found.ok(), explain(made, found));
      buffer_counts buffers;
      CHECK(count_buffers(made, buffers).ok());
    }
}
