// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/require_plan.hpp>

#include "unit/plan/last_first.hpp"
#include "unit/plan/random_plans.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace motet;

namespace {

list<module_facts> two_towers() {
  return {{.name = "picture", .layers = 4, .key_heads = 4},
          {.name = "caption", .layers = 2, .key_heads = 2, .attends = false}};
}
plan apart() {
  plan of{{.ranks = 7}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.stages = 2, .tensor = 2}, 8));
  of.modules.push(on_ranks("caption", 4, degrees{.data = 3}, 4));
  of.modules[0].group = 4;
  of.modules[1].group = 2;
  return of;
}
void check_said(const std::string& wanted, const std::function<void(plan&, list<module_facts>&)>& make,
                isize samples = 64) {
  plan of = apart();
  list<module_facts> facts = two_towers();
  make(of, facts);
  std::string said;
  try {
    require_plan(of, facts, samples);
  } catch (const error& problem) {
    said = problem.what();
  }
  CAPTURE(said);
  CAPTURE(wanted);
  // The sentence's numbers, the remedy, the code.
  const std::size_t code = wanted.rfind('[');
  CHECK(said.find(": " + wanted.substr(0, code - 1) + ". ") != std::string::npos);
  CHECK(said.ends_with(wanted.substr(code)));
}

}  // namespace

TEST_CASE("a plan that fits comes back in the model's order") {
  plan turned = apart();
  std::swap(turned.modules[0], turned.modules[1]);
  CHECK(require_plan(turned, two_towers(), 64) == apart());
  CHECK(explain_plan(turned, two_towers(), 64).empty());
}

TEST_CASE("a plan that does not fit is told with the module's name and its numbers") {
  check_said("caption: degrees 1 stages x 0 data x 1 context x 1 tensor = 0 [MT-S01]",
             [](plan& of, auto&) { of.modules[1].on = mesh(degrees{.data = 0}, {4}); });
  check_said("picture: it fills, and ends in one loss with caption, which does not [MT-S21]",
             [](plan& of, auto&) { of.modules[0].fills = true; });
  check_said("caption: it is multiplexed, and ends in a loss [MT-S32]",
             [](plan& of, auto&) { of.modules[1].multiplexed = true; });
  check_said("caption: it is multiplexed, and fed by picture, which is not [MT-S32]",
             [](plan& of, auto& facts) {
               of.modules[1].multiplexed = true;
               facts[1].from = {0};
               facts[1].meets = false;
             });
  check_said("picture: got rank 2 without another module, wanted one that is not multiplexed [MT-S31]",
             [](plan& of, auto& facts) {
               of.modules[0].multiplexed = true;
               of.modules[1].on = mesh::from(0, degrees{.data = 2});
               facts[0].meets = false;
               facts[1].from = {0};
             });
  check_said("caption: it is multiplexed, and it fills [MT-S33]",
             [](plan& of, auto&) { of.modules[1].multiplexed = of.modules[1].fills = true; });
  check_said("picture: it is multiplexed, with stash -1, room 0, chunks 2, ahead 0 [MT-S33]",
             [](plan& of, auto&) {
               of.modules[0].multiplexed = true;
               of.modules[0].chunks = 2;
             });
  check_said("caption: got 6 ranks, wanted 2 stages x 2 data x 1 context x 1 tensor = 4 [MT-S02]",
             [](plan& of, auto&) {
               of.modules[1].on = mesh(degrees{.stages = 2, .data = 2}, {0, 1, 2, 3, 4, 5});
             });
  check_said("picture: got rank 8, wanted ranks below 7 [MT-S03]", [](plan& of, auto&) {
    of.modules[0].on = mesh(degrees{.data = 2}, {8, 1});
  });
  check_said("picture: rank 1 [MT-S04]", [](plan& of, auto&) {
    of.modules[0].on = mesh(degrees{.data = 2}, {1, 1});
  });
  check_said("picture: a group of 2 lies on the nodes 0 and 1 [MT-S05]",
             [](plan& of, auto&) { of.cluster.ranks_per_node = 3; });
  check_said("caption: it has none [MT-S06]", [](plan& of, auto&) { of.modules[1].on = {}; });
  check_said("captoin; there are picture, caption; did you mean caption [MT-M03]",
             [](plan& of, auto&) { of.modules[1].name = "captoin"; });
  check_said("caption: the plan places picture [MT-S06]", [](plan& of, auto&) { of.modules.pop(); });
  check_said("the plan places caption twice [MT-M04]",
             [](plan& of, auto&) { of.modules.push(on_ranks("caption", 0, {})); });
  check_said("sound; there are picture, caption [MT-M03]",
             [](plan& of, auto&) { of.modules.push(on_ranks("sound", 0, {})); });
  check_said("caption: context 3 [MT-S07]",
             [](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.context = 3}); });
  check_said("caption: 2 pieces, and tensor 1 [MT-S24]", [](plan& of, auto&) { of.modules[1].pieces = 2; });
  check_said("caption: experts 2 for 3 replicas [MT-S34]",
             [](plan& of, auto&) { of.modules[1].experts = 2; });
  check_said("caption: 3 ranks share experts, and its layers have 2 [MT-S35]", [](plan& of, auto& facts) {
    of.modules[1].experts = 3;
    facts[1].experts = 2;
  });
  check_said("picture: 4 ranks share experts, and its layers have 3 [MT-S35]", [](plan& of, auto& facts) {
    of.modules[0].on = mesh::from(0, degrees{.data = 2, .tensor = 2});
    of.modules[0].experts = 2;
    facts[0].experts = 3;
  });
  check_said("caption: got offload_beyond -1, wanted 0 or more [MT-S36]",
             [](plan& of, auto&) { of.modules[1].offload_beyond = -1; });
  check_said("picture: offload_beyond 2, and backward makes again what it needs [MT-S36]",
             [](plan& of, auto&) {
               of.modules[0].offload_beyond = 2;
               of.modules[0].remade.resize(of.modules[0].stages(), 1);
             });
  check_said("caption: offload_beyond 1, and nothing goes backward through it [MT-S36]",
             [](plan& of, auto& facts) {
               of.modules[1].offload_beyond = 1;
               facts[1].frozen = true;
             });
  check_said("caption: long_rows 9 [MT-S30]", [](plan& of, auto&) { of.modules[1].long_rows = 9; });
  check_said("picture: got 65 pieces, wanted 1 to 64 [MT-S24]",
             [](plan& of, auto&) { of.modules[0].pieces = 65; });
  CHECK(explain_plan(
            [] {
              plan of = apart();
              of.modules[0].pieces = 3;
              return of;
            }(),
            two_towers(), 64)
            .empty());
  check_said("picture: zero 1 [MT-S08]", [](plan& of, auto& facts) {
    of.modules[0].zero = 1;
    facts[0].frozen = true;
  });
  check_said("caption: tensor 3 for 2 key-value heads [MT-S09]",
             [](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.tensor = 3}); });
  check_said(
      "caption: a batch of 10 samples in 12 parts [MT-S10]", [](plan&, auto&) {}, 10);
  check_said(
      "picture: a batch of 63 in 2 groups [MT-S11]", [](plan&, auto&) {}, 63);
  check_said("picture: got 2 + 3 = 5 on 2 stages, wanted 4 on 2 stages [MT-S12]", [](plan& of, auto&) {
    of.modules[0].layers = {2, 3};
  });
  check_said("picture: it is said for 1 stage, wanted 2 [MT-S13]",
             [](plan& of, auto&) { of.modules[0].remade = {1}; });
  check_said("caption: zero 4 [MT-S14]", [](plan& of, auto&) { of.modules[1].zero = 4; });
  check_said("\"1f2b\"; there are " + schedule_names() + " [MT-S15]",
             [](plan& of, auto&) { of.schedule = "1f2b"; });
  check_said("picture: got 3, wanted 0 [MT-S16]", [](plan& of, auto&) {
    of.schedule = "gpipe";
    of.modules[0].stash = 3;
  });
  check_said("caption: remade, and zb_h1 splits backward [MT-S17]", [](plan& of, auto&) {
    of = {{.ranks = 3}, "zb_h1", {}};
    of.modules.push(on_ranks("picture", 0, degrees{.stages = 2}, 4));
    of.modules.push(on_ranks("caption", 2, {}, 4));
    for (module_plan& each : of.modules) each.group = 1;
    of.modules[1].remade = {1};
  });
  check_said("picture: got 0, wanted at least 1 [MT-P01]",
             [](plan& of, auto&) { of.modules[0].microbatches = 0; });
  check_said("picture: groups of 3 among 8 microbatches [MT-P04]",
             [](plan& of, auto&) { of.modules[0].group = 3; });
  check_said("caption: got 1 loss, wanted 2 as the first module has [MT-P06]",
             [](plan& of, auto&) { of.modules[1].group = 0; });
  check_said("caption: got 3 stages, wanted at most 2 for as many layers [MT-P09]",
             [](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.stages = 3}); });
  check_said("picture: got a stash of 5, wanted 0 to 4 [MT-P05]",
             [](plan& of, auto&) { of.modules[0].stash = 5; });
}

TEST_CASE("what a schedule of one's own writes otherwise than the plan is told with its name") {
  const auto by = []<flaw Flaw>() { return [](plan& of, auto&) { of.by(last_first<Flaw>{}); }; };
  check_said("picture: last_first writes 2 voices, wanted 1 [MT-S26]",
             by.template operator()<flaw::voices>());
  check_said("picture: last_first writes 3 stages, wanted 2 [MT-S26]",
             by.template operator()<flaw::stages>());
  check_said("picture: last_first writes 2 chunks, wanted 1 [MT-S26]",
             by.template operator()<flaw::chunks>());
  check_said("picture: last_first writes 9 microbatches, wanted 8 [MT-S26]",
             by.template operator()<flaw::microbatches>());
  check_said("picture: last_first writes 3 ranks, wanted 2 [MT-S26]", by.template operator()<flaw::ranks>());
  check_said("picture: last_first writes 8 losses of its own, wanted 0 [MT-S26]",
             by.template operator()<flaw::losses>());
  check_said("picture: last_first writes 2 as the last rank of a stage, wanted 1 [MT-S26]",
             by.template operator()<flaw::place>());
  plan fits = apart();
  fits.by(last_first<>{});
  CHECK(require_plan(fits, two_towers(), 64) == fits);
  // A file names it and cannot say more.
  check_said("\"last_first\"; there are " + schedule_names() + " [MT-S15]",
             [](plan& of, auto&) { of.schedule = "last_first"; });
}

TEST_CASE("an order that cannot run is told with its instruction") {
  plan of = apart();
  of.schedule = "1f1b";
  const message* row = nullptr;
  const std::string said = explain_plan(of, two_towers(), 64, &row);
  CAPTURE(said);
  REQUIRE(row != nullptr);
  CHECK(std::string_view(row->code) == "MT-P38");
  CHECK(said.starts_with("schedule 1f1b: rank "));
  CHECK(said.find("picture") != std::string::npos);
}

TEST_CASE("whatever is drawn is proven or told, and both agree") {
  laws::dice roll(21);
  const list<module_facts> facts = tower_facts();
  int told = 0;
  for (int n = 0; n < 1000; ++n) {
    const plan of = random_plan(roll, facts);
    const message* row = nullptr;
    const std::string said = explain_plan(of, facts, 72, &row);
    REQUIRE(prove_plan(of, facts, 72).ok() == said.empty());
    REQUIRE((row == nullptr) == said.empty());
    told += said.empty() ? 0 : 1;
  }
  CHECK((told > 100 && told < 900));
}
