// SPDX-License-Identifier: Apache-2.0
#include <motet/front/plan_of.hpp>

#include <motet/plan/prove/require_plan.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace motet;

namespace {

list<module_facts> towers() {
  list<module_facts> out;
  out.push({.name = "left", .layers = 4, .key_heads = 4});
  out.push({.name = "right", .layers = 2, .key_heads = 4});
  return out;
}
// Rows go from the first module through the second into the third, which has the most layers.
list<module_facts> chain() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 2, .key_heads = 4, .meets = false});
  out.push({.name = "glue", .attends = false, .from = {}, .meets = false});
  out.push({.name = "talk", .layers = 4, .key_heads = 4});
  out[1].from.push(0);
  out[2].from.push(1);
  return out;
}
plan proven(std::string_view name, const list<module_facts>& model) {
  return require_plan(plan_of(name, model), model, 48);
}

}  // namespace

TEST_CASE("every name gives a plan that is proven, of as many ranks as it says") {
  struct named {
    const char* name;
    std::int32_t of_towers, of_chain;  // ranks; 0: no plan of such a model
  };
  for (const named& each : {named{"one", 1, 1}, named{"apart", 2, 3}, named{"data-3", 3, 3},
                            named{"tensor-2", 2, 2}, named{"context-2", 2, 0}, named{"gpipe-2", 2, 2},
                            named{"1f1b-3", 3, 3}, named{"batch_sync-4", 4, 0}}) {
    CAPTURE(each.name);
    CHECK(proven(each.name, towers()).cluster.ranks == each.of_towers);
    if (each.of_chain > 0) CHECK(proven(each.name, chain()).cluster.ranks == each.of_chain);
    else CHECK_THROWS_AS(proven(each.name, chain()), error);
  }
}

TEST_CASE("a pipeline has the longest module, the others lie beside its ends") {
  const plan of = plan_of("batch_sync-4", towers());
  CHECK(of.schedule == label("batch_sync"));
  CHECK(of.modules[0].on == mesh::from(0, {.stages = 4}));
  CHECK(of.modules[0].microbatches == 8);
  CHECK(of.modules[1].on == mesh::from(3, {}));
  const plan through = plan_of("gpipe-2", chain());
  CHECK(through.schedule == label("gpipe"));
  CHECK(through.modules[0].on == mesh::from(0, {}));
  CHECK(through.modules[2].on == mesh::from(0, {.stages = 2}));
}

TEST_CASE("what is no name is refused with those that there are") {
  for (const char* word : {"", "best", "one-2", "apart-2", "data", "data-", "data-0", "data-x", "data-2x",
                           "data--2", "zb_v-2", "data-999999999", "tensor-99999999999"}) {
    CAPTURE(word);
    CHECK_FALSE(plan_of_name(word, towers()));
    CHECK_THROWS_WITH_AS(plan_of(word, towers()), doctest::Contains(std::string(plans_of_any_model).c_str()),
                         error);
  }
}

TEST_CASE("a name that is nearly one is told which") {
  const auto meant = [](const char* word) {
    try {
      static_cast<void>(plan_of(word, towers()));
    } catch (const error& problem) {
      const std::string all = problem.what();
      const std::size_t at = all.find("did you mean ");
      return at == std::string::npos ? std::string() : all.substr(at + 13, all.find(". ", at) - at - 13);
    }
    return std::string("a plan");
  };
  CHECK(meant("data2") == "data-2");
  CHECK(meant("batchsync-4") == "batch_sync-4");
  CHECK(meant("data-x") == "data-N");
  CHECK(meant("one-2") == "one");
  CHECK(meant("best").empty());
  CHECK(meant("").empty());
  CHECK(meant("data-0").empty());
}

TEST_CASE("a catalogue takes the place of those that any model has") {
  const named_plan own[] = {
      {"mine", "as I want it", [] { return plan{.cluster = {.ranks = 5}, .modules = {}}; }}};
  CHECK(find_plan(own, "mine") == own);
  CHECK(find_plan(own, "one") == nullptr);
  CHECK(plan_of("mine", towers(), own).cluster.ranks == 5);
  CHECK_THROWS_WITH_AS(plan_of("one", towers(), own), doctest::Contains("\"one\"; there are mine"), error);
  CHECK_THROWS_WITH_AS(plan_of("mime", towers(), own), doctest::Contains("mine; did you mean mine"), error);
  CHECK_THROWS_AS(plan_of("no/such/file.json", towers(), own), error);
}

TEST_CASE("the word behind an option, wherever it stands") {
  const auto behind = [](std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return word_behind(static_cast<int>(words.size()), words.data(), "--plan");
  };
  CHECK(behind({"--plan", "apart"}) == "apart");
  CHECK(behind({"--other", "--plan=data-2", "x"}) == "data-2");
  CHECK(behind({"--planned", "x"}).empty());
  CHECK(behind({"--plan"}).empty());
  CHECK(behind({}).empty());
}
