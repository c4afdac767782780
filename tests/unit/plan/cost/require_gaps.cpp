// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/require_gaps.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

list<module_facts> trained() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 4, .key_heads = 4, .meets = false});
  out.push({.name = "glue", .attends = false, .from = {0}, .meets = false});
  out.push({.name = "talk", .layers = 2, .key_heads = 4, .from = {1}, .experts = 4});
  return out;
}
machine_profile of(const measured_gaps& gaps) {
  machine_profile out;
  out.gaps.push({"talk", {.context = 2}, {}});
  out.gaps.push(gaps);
  return out;
}
void refused(const measured_gaps& gaps, const char* words) {
  CHECK_THROWS_WITH_AS(require_gaps_of(of(gaps), "p.json", trained()), doctest::Contains("MT-P97"), error);
  CHECK_THROWS_WITH_AS(require_gaps_of(of(gaps), "p.json", trained()), doctest::Contains(words), error);
}

}  // namespace

TEST_CASE("gaps are of modules of the model, or of towers beside them, as these can be cut") {
  for (const gap_degrees& each : {gap_degrees{.tensor = 4, .context = 2},
                                  {.experts = 4},
                                  {.tensor = 2, .experts = 2},
                                  {.zero = 3, .data = 64},
                                  {.context = 2, .zero = 2},
                                  {.experts = 2, .zero = 2, .data = 4}})
    CHECK_NOTHROW(require_gaps_of(of({"talk", each, {}}), "p.json", trained()));
  machine_profile beside = of({"picture", {.tensor = 8}, {}});
  beside.modules.push({{.name = "picture", .layers = 2, .width = 64, .heads = 8, .tokens = 17}, {}});
  CHECK_NOTHROW(require_gaps_of(beside, "p.json", trained()));
  beside.gaps[1].under.tensor = 9;
  CHECK_THROWS_WITH_AS(require_gaps_of(beside, "p.json", trained()), doctest::Contains("picture: "), error);
}

TEST_CASE("gaps of other models are refused by what differs") {
  refused({"eyes", {.tensor = 2}, {}}, "gaps[1] of p.json is of eyes, wanted one of eye, glue, talk");
  refused(
      {"talk", {.tensor = 8}, {}},
      "gaps[1] of p.json is of talk under degrees that it cannot have: talk: tensor 8 for 4 key-value heads");
  refused({"glue", {.context = 2}, {}}, "glue: context 2");
  refused({"eye", {.experts = 2}, {}}, "eye: 2 ranks share experts, and its layers have 0");
  refused({"talk", {.experts = 8}, {}}, "talk: 8 ranks share experts, and its layers have 4");
  refused({"talk", {.tensor = 2, .experts = 4}, {}}, "talk: 8 ranks share experts, and its layers have 4");
  refused({"talk", {.experts = 4, .zero = 2, .data = 6}, {}}, "talk: experts 4 for 6 replicas");
}
