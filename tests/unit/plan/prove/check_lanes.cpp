// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

list<module_facts> facts() {
  list<module_facts> all;
  all.push({.name = "eye", .layers = 4, .meets = false});
  all.push({.name = "glue", .layers = 1, .meets = false});
  all.push({.name = "talk", .layers = 2});
  all[1].from.push(0);
  all[2].from.push(1);
  return all;
}
plan on_two_ranks() {
  plan of{{.ranks = 2}, "1f1b", {}};
  for (const char* const name : {"eye", "glue", "talk"}) {
    of.modules.push(on_ranks(name, 0, name[0] == 't' ? degrees{.stages = 2} : degrees{.data = 2},
                             name[0] == 't' ? 4 : 2));
    of.modules.back().group = 1;
  }
  return of;
}
std::vector<double> shares_of(const plan& of) {
  const list<double> found = shares_of_lanes(of);
  return {found.begin(), found.end()};
}
std::string why_not(const plan& of) {
  const message* row = nullptr;
  const std::string text = explain_plan(of, facts(), 8, &row);
  return row == nullptr ? text : text + " [" + row->code + "]";
}

}  // namespace

TEST_CASE("modules beside the others have the next lane, and lanes without a share what the others leave") {
  CHECK(shares_of(on_two_ranks()) == std::vector<double>{1});
  CHECK(shares_of(on_two_ranks().beside({"eye", "glue"})) == std::vector<double>{.5, .5});
  CHECK(shares_of(on_two_ranks().beside({"eye", "glue"}, .25)) == std::vector<double>{.75, .25});
  const plan both = on_two_ranks().beside("eye", .5).beside("glue");
  CHECK(both.modules[0].lane == 1);
  CHECK(both.modules[1].lane == 2);
  CHECK(shares_of(both) == std::vector<double>{.25, .5, .25});
  CHECK(why_not(both) == "");
}

TEST_CASE("lanes whose modules all fill yield to those of others, and shares are said or not") {
  const auto yields_of = [](const plan& of) {
    const list<bool> found = yields_of_lanes(of);
    return std::vector<bool>(found.begin(), found.end());
  };
  plan of = on_two_ranks().beside({"eye", "glue"});
  CHECK_FALSE(says_shares(of));
  CHECK(yields_of(of) == std::vector<bool>{false, false});
  of.modules[0].fills = true;
  CHECK(yields_of(of) == std::vector<bool>{false, false});
  of.modules[1].fills = true;
  CHECK(yields_of(of) == std::vector<bool>{false, true});
  // A lane in which nothing computes yields to nobody.
  of.modules[1].lane = 3;
  CHECK(yields_of(of) == std::vector<bool>{false, true, false, true});
  CHECK(says_shares(on_two_ranks().beside("eye", .25)));
}

TEST_CASE("voices of a plan are in its modules' lanes, filled or not") {
  for (const bool fills : {false, true}) {
    plan of = on_two_ranks().beside({"eye", "glue"}, .25);
    of.modules[0].fills = of.modules[1].fills = fills;
    REQUIRE(why_not(of) == "");
    score order;
    REQUIRE(write_plan(of, facts(), order, 8).ok());
    for (const voice& each : order.voices()) CHECK(each.lane == (each.module == 2 ? 0 : 1));
    CHECK(prove(order).ok());
  }
}

TEST_CASE("lanes that share no rank are refused with what each module says") {
  const auto says = [](auto&& change) {
    plan of = on_two_ranks();
    change(of);
    return why_not(of);
  };
  CHECK(says([](plan& of) { of.modules[0].lane = 5; }).find("eye: got lane 5, wanted 0 to 4 [MT-S25]") !=
        std::string::npos);
  CHECK(says([](plan& of) { of.modules[0].lane = -1; }).find("lane -1") != std::string::npos);
  for (const double share : {-.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    CHECK(says([share](plan& of) { of.modules[1].share = share; }).find("MT-S25") != std::string::npos);
  const std::string above = says([](plan& of) {
    of.beside("eye", .5);
    of.modules[2].share = .75;
  });
  CHECK(above.find("eye has 50 % in lane 1, glue has 0 % in lane 0, talk has 75 % in lane 0 [MT-S25]") !=
        std::string::npos);
  CHECK(says([](plan& of) { of.beside("eye", 1); }).find("MT-S25") != std::string::npos);
  CHECK(says([](plan& of) {
          of.beside({"eye", "glue"}, .5);
          of.modules[1].share = .25;
        }).find("MT-S25") != std::string::npos);
  CHECK(says([](plan& of) {
          of.beside("eye", .3).beside("glue", .1);
          of.modules[2].share = .6;
        }) == "");
  CHECK(says([](plan& of) { of.beside("ear"); }).find("MT-M03") != std::string::npos);
}

TEST_CASE("lanes and shares are written and read, and a type says them") {
  const plan of = on_two_ranks().beside({"eye", "glue"}, .25);
  CHECK(read_plan(plan_json(of)) == of);
  CHECK(plan_json(of).at("modules").at("eye").find("share") != nullptr);
  CHECK(write_json(plan_json(on_two_ranks())).find("lane") == std::string::npos);
  CHECK_THROWS_WITH_AS(
      read_plan(
          read_json(R"({"cluster": {"ranks": 1}, "modules": {"eye": {"ranks": [0], "share": 2}}})", "x")),
      doctest::Contains("modules.eye.share"), error);
  strategy::spoken said;
  strategy::in_lane<2, 25>::say(said);
  CHECK(said.module.lane == 2);
  CHECK(said.module.share == .25);
}
