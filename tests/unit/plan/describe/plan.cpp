// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/plan.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a module's numbers follow from its degrees") {
  module_plan own = on_ranks("picture", 2, degrees{.stages = 2, .data = 3, .context = 2, .tensor = 4}, 8);
  own.chunks = 2;
  CHECK(own.stages() == 4);
  CHECK(own.shards() == 8);
  CHECK((own.whole_group() == 8 && own.groups() == 1));
  own.group = 4;
  CHECK((own.whole_group() == 4 && own.groups() == 2));
  CHECK((own.on.ranks().size() == 48 && own.on.ranks()[0] == 2 && own.on.ranks()[47] == 49));
  const sample_split split = own.split(96);
  CHECK((split.samples == 96 && split.groups == 2 && split.replicas == 3 && split.microbatches == 4));
}

TEST_CASE("modules are put into the model's order, and what it does not have comes last") {
  const list<module_facts> facts{{.name = "picture"}, {.name = "caption"}, {.name = "sound"}};
  const auto names = [&](std::initializer_list<const char*> given) {
    plan of;
    for (const char* each : given) of.modules.push(on_ranks(each, 0, {}));
    std::string out;
    for (const module_plan& each : arranged(of, facts).modules) out += std::string(each.name.view()) + " ";
    return out;
  };
  CHECK(names({"picture", "caption", "sound"}) == "picture caption sound ");
  CHECK(names({"sound", "caption", "picture"}) == "picture caption sound ");
  CHECK(names({"sound", "x", "picture", "caption"}) == "picture caption sound x ");
  CHECK(names({"x", "sound"}) == "sound x ");
  CHECK(names({"caption", "caption"}) == "caption caption ");
  CHECK(names({}) == "");
}

TEST_CASE("plans are values, for compilers too") {
  constexpr auto make = [] {
    plan of{{.ranks = 4}, "gpipe", {}};
    of.modules.push(on_ranks("picture", 0, degrees{.stages = 2, .data = 2}, 4));
    return of;
  };
  static_assert(make() == make() && make().modules[0].on.rank({1, 1, 0, 0}) == 3);
  plan other = make();
  CHECK(other == make());
  other.modules[0].stash = 1;
  CHECK(!(other == make()));
  other = make();
  other.modules[0].on = mesh(degrees{.stages = 2, .data = 2}, {0, 1, 3, 2});
  CHECK(!(other == make()));
}
