// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/scores_of_plan.hpp>

#include "unit/plan/last_first.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {

// An eye that feeds a language model in two stages.
list<module_facts> speech() {
  list<module_facts> out{{.name = "eye", .layers = 4, .key_heads = 4},
                         {.name = "talk", .layers = 4, .key_heads = 4}};
  out[0].meets = false;
  out[1].from.push(0);
  return out;
}
plan one_behind_another(const char* schedule, int chunks = 1) {
  plan of{{.ranks = 3}, schedule, {}};
  of.modules.push(on_ranks("eye", 0, {}, 8));
  of.modules.push(on_ranks("talk", 1, {.stages = 2}, 8));
  of.modules[1].chunks = chunks;
  for (module_plan& each : of.modules) each.group = 1;
  return of;
}
list<module_facts> two_towers() {
  return {{.name = "picture", .layers = 4, .key_heads = 4},
          {.name = "caption", .layers = 2, .key_heads = 2, .attends = false}};
}
plan apart() {
  plan of{{.ranks = 3}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2}, 8));
  of.modules.push(on_ranks("caption", 2, {}, 8));
  for (module_plan& each : of.modules) each.group = 4;
  return of;
}
plan_scores found_by(const plan& of, const list<module_facts>& facts) {
  const plan_scores found = scores_of_plan(require_proven(of, facts, 64), facts, 64);
  REQUIRE(found.names.size() == found.orders.size());
  return found;
}
bool says(const std::vector<std::string>& all, std::string_view what) {
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& each) { return each.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("a pipeline may be played by each schedule that writes its cast, the plan's own first") {
  const plan_scores found = found_by(one_behind_another("1f1b"), speech());
  CAPTURE(found.told());
  CHECK(found.names.front() == "1f1b");
  CHECK(found.names.size() > 2);
  CHECK(std::count(found.names.begin(), found.names.end(), "gpipe") == 1);
  CHECK(std::count(found.names.begin(), found.names.end(), "zb_h1") == 1);
  for (std::size_t k = 0; k < found.orders.size(); ++k) {
    CHECK(!find_other_cast(found.orders[0], found.orders[k]).is_there());
    CHECK(prove(found.orders[k]).ok());
    for (std::size_t other = 0; other < k; ++other) CHECK(!(found.orders[k] == found.orders[other]));
  }
  // The plan's own comes first, whichever it is.
  CHECK(found_by(one_behind_another("gpipe"), speech()).names.front() == "gpipe");
}

TEST_CASE("of schedules that have none it is said why") {
  const plan_scores found = found_by(one_behind_another("1f1b"), speech());
  CHECK(says(found.left_out, "batch_sync: "));
  CHECK(says(found.left_out, "dualpipe_v: "));
  // Chunks go round the ranks: no other schedule of the library has this cast.
  const plan_scores alone = found_by(one_behind_another("interleaved", 2), speech());
  CHECK(alone.names == std::vector<std::string>{"interleaved"});
  CHECK(says(alone.left_out, "gpipe: "));
  CHECK(alone.left_out.size() == 10);
}

TEST_CASE("batch_sync takes turns with itself, by what it keeps") {
  const plan_scores found = found_by(apart(), two_towers());
  CAPTURE(found.told());
  CHECK(found.names.front() == "batch_sync");
  CHECK(std::count(found.names.begin(), found.names.end(), "batch_sync, half kept") == 1);
  CHECK(std::count(found.names.begin(), found.names.end(), "batch_sync, none kept") == 1);
  CHECK(says(found.left_out, "batch_sync, all kept: the same score as batch_sync"));
}

// Of any other the proof says what is wrong, and another cast is one.
TEST_CASE("schedules of a program's own take turns with those of the library") {
  const plan of = one_behind_another("1f1b");
  const proven_plan proven = require_proven(of, speech(), 64);
  const plan_scores found = scores_of_plan(proven, speech(), 64, {last_first<>{}});
  CHECK(found.names[1] == "last_first");
  CHECK(found.names.size() == found_by(of, speech()).names.size() + 1);
  CHECK(prove(found.orders[1]).ok());
  CHECK(found.other_casts.empty());
  const plan_scores twice = scores_of_plan(proven, speech(), 64, {last_first<>{}, last_first<>{}});
  CHECK(twice.names == found.names);
  CHECK(says(twice.left_out, "last_first: the same score as last_first"));
  const plan_scores turned = scores_of_plan(proven, speech(), 64, {last_first<flaw::turned>{}});
  CHECK(turned.names == found_by(of, speech()).names);
  CHECK(turned.other_casts ==
        std::vector<std::string>{"last_first: voice 1 has 2 as the rank of a stage, wanted 1"});
  CHECK_THROWS_WITH_AS(scores_of_plan(proven, speech(), 64, {last_first<flaw::stages>{}}),
                       doctest::Contains("talk: last_first writes 3 stages, wanted 2"), error);
}

TEST_CASE("a score that is left out later says why as well") {
  plan_scores found = found_by(one_behind_another("1f1b"), speech());
  const std::string name = found.names[1];
  const std::size_t before = found.names.size();
  found.leave_out(1, "too large");
  CHECK(found.names.size() == before - 1);
  CHECK(found.orders.size() == before - 1);
  CHECK(found.left_out.back() == name + ": too large");
}
