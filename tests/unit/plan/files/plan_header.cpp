// SPDX-License-Identifier: Apache-2.0
#include "data/plan/every_field.h"
#include "data/plan/heavy_on_seven.h"
#include "train_clip/plans.hpp"
#include "train_vlm/plans.hpp"
#include "unit/plan/random_plans.hpp"

#include <motet/format/files/file.hpp>
#include <motet/plan/files/plan_header.hpp>

#include <doctest/doctest.h>

#include <regex>

using namespace motet;

namespace {

// Reads what a header says as the compiler would: enough of C++ for what plan_header() writes.
plan read_back(const std::string& text) {
  plan out;
  std::smatch found;
  const auto numbers = [](std::string words, auto push) {
    static const std::regex one("-?[0-9]+");
    for (std::sregex_iterator each(words.begin(), words.end(), one), end; each != end; ++each)
      push(std::stoi(each->str()));
  };
  const auto split_of = [](const std::string& words) {
    degrees split;
    const std::pair<const char*, std::int32_t*> ways[] = {{".stages = ", &split.stages},
                                                          {".data = ", &split.data},
                                                          {".context = ", &split.context},
                                                          {".tensor = ", &split.tensor}};
    for (const auto& [name, into] : ways)
      if (const std::size_t at = words.find(name); at != std::string::npos)
        *into = std::stoi(words.substr(at + std::string(name).size()));
    return split;
  };
  std::string statement;
  for (const char c : text.substr(text.find("() {") + 4)) {
    if (c != ';') {
      statement += c;
      continue;
    }
    static const std::regex cluster(
        R"(cluster = \{\.ranks = (\d+)(?:, \.ranks_per_node = (\d+))?(, \.tensor_may_cross_nodes = true)?\})");
    static const std::regex schedule(R"x(schedule = "(\w+)")x");
    static const std::regex pushed(R"x(on_ranks\("(\w+)", (\d+), motet::degrees\{(.*)\}(?:, (\d+))?\)\))x");
    static const std::regex mesh_of(
        R"(\[(\d+)\]\.on = motet::mesh\(motet::degrees\{(.*)\},\s*\{([^}]*)\}\))");
    static const std::regex field(R"(\[(\d+)\]\.(\w+) = (\{?[-.\w, \n]+\}?)$)");
    if (std::regex_search(statement, found, cluster)) {
      out.cluster = {std::stoi(found[1]), found[2].matched ? std::stoi(found[2]) : 0, found[3].matched};
    } else if (std::regex_search(statement, found, schedule)) {
      out.schedule = label(found[1].str());
    } else if (std::regex_search(statement, found, pushed)) {
      out.modules.push(on_ranks(label(found[1].str()), std::stoi(found[2]), split_of(found[3]),
                                found[4].matched ? std::stoi(found[4]) : 1));
    } else if (std::regex_search(statement, found, mesh_of)) {
      list<std::int32_t> ranks;
      numbers(found[3], [&](int each) { ranks.push(each); });
      out.modules[std::stoi(found[1])].on = mesh(split_of(found[2]), ranks);
    } else if (std::regex_search(statement, found, field)) {
      module_plan& own = out.modules[std::stoi(found[1])];
      const std::string name = found[2], value = found[3];
      const std::pair<const char*, int*> counts[] = {{"chunks", &own.chunks},
                                                     {"group", &own.group},
                                                     {"stash", &own.stash},
                                                     {"ahead", &own.ahead},
                                                     {"zero", &own.zero},
                                                     {"room", &own.room},
                                                     {"lane", &own.lane},
                                                     {"pieces", &own.pieces},
                                                     {"long_rows", &own.long_rows},
                                                     {"experts", &own.experts},
                                                     {"offload_beyond", &own.offload_beyond}};
      const std::pair<const char*, double*> reals[] = {{"forward_takes", &own.forward_takes},
                                                       {"backward_takes", &own.backward_takes},
                                                       {"share", &own.share}};
      for (const auto& [known, into] : counts)
        if (name == known) *into = std::stoi(value);
      for (const auto& [known, into] : reals)
        if (name == known) *into = std::stod(value);
      if (name == "layers") numbers(value, [&](int each) { own.layers.push(each); });
      if (name == "remade")
        numbers(value, [&](int each) { own.remade.push(static_cast<std::uint8_t>(each)); });
      if (name == "balanced") own.balanced = value == "true";
      if (name == "fills") own.fills = value == "true";
      if (name == "multiplexed") own.multiplexed = value == "true";
    }
    statement.clear();
  }
  return out;
}

std::string stored(const char* name) {
  return std::string(mapped_file(std::string(MOTET_TEST_DATA) + "/plan/" + name).text());
}
std::string refusal(const std::string& name) {
  try {
    plan_header({}, {.name = name});
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

constexpr list<module_facts> towers() {
  return {{.name = "picture", .layers = 4, .key_heads = 4}, {.name = "caption", .layers = 2, .key_heads = 4}};
}

}  // namespace

// The compiler has read these files, and proves what they return.
static_assert(prove_plan(heavy_on_seven(), towers(), heavy_on_seven_batch).ok());
static_assert(heavy_on_seven() == train_clip::catalogue::heavy_7());
static_assert(heavy_on_seven_batch == 64);

TEST_CASE("a header is the text that was compiled here") {
  CHECK(plan_header(train_clip::catalogue::heavy_7(),
                    {.name = "heavy_on_seven",
                     .about = "Two towers on seven ranks.\nMade by plan_header(), compared by its test.",
                     .samples = 64}) == stored("heavy_on_seven.h"));
  CHECK(plan_header(every_field(), {.name = "every_field"}) == stored("every_field.h"));
}

TEST_CASE("every field and odd names come through the compiler") {
  const plan of = every_field();
  CHECK((of.cluster == cluster_shape{80, 8, true} && of.schedule.view() == "interleaved"));
  REQUIRE(of.modules.size() == 3);
  const module_plan& own = of.modules[0];
  CHECK(own.name.view() == "a \"\\\a\303\251 tower");
  CHECK(own.on == mesh::from(5, degrees{2, 3, 2, 4}));
  CHECK((own.chunks == 2 && own.layers == list<motet::isize>{1, 1, 1, 1} &&
         own.remade == list<std::uint8_t>{1, 0, 1, 0}));
  CHECK((own.microbatches == 8 && own.group == 4 && own.stash == 2 && own.ahead == 1 && own.zero == 1 &&
         !own.balanced));
  CHECK((of.modules[1].on.split() == degrees{.data = 40} && of.modules[1].on.ranks()[39] == 78));
  const module_plan& last = of.modules[2];
  CHECK(last.on == mesh(degrees{}, {63}));
  CHECK((last.fills && last.room == 3 && last.forward_takes == 1.5 && last.backward_takes == 2.75));
  CHECK((last.lane == 1 && last.share == 0.25));
}

TEST_CASE("any plan, read back from its text") {
  laws::dice roll(11);
  for (int i = 0; i < 100; ++i) {
    plan of = random_plan(roll, tower_facts());
    of.modules[0].multiplexed = i % 2 == 1;
    const std::string text = plan_header(of);
    CAPTURE(text);
    CHECK(read_back(text) == of);
  }
  for (const named_plan& each : train_clip::plans) CHECK(read_back(plan_header(each.make())) == each.make());
  for (const named_plan& each : train_vlm::plans) CHECK(read_back(plan_header(each.make())) == each.make());
}

TEST_CASE("names") {
  CHECK(function_name("clip-1.1b on v100:8x8") == "clip_1_1b_on_v100_8x8");
  CHECK(function_name("2 towers") == "plan_2_towers");
  CHECK(function_name("new") == "plan_new");
  CHECK(function_name("__x__") == "x");
  CHECK(function_name("\303\251") == "best_plan");
  for (const char* bad : {"", "1x", "a-b", "a__b", "_a", "while", "motet", "a b", "a;"}) {
    CAPTURE(bad);
    CHECK(refusal(bad).find("MT-P81") != std::string::npos);
  }
  CHECK(refusal("whilst") == "");
}

TEST_CASE("a comment stays one") {
  const std::string text = plan_header({}, {.about = "a\\\nb\r\nc"});
  CHECK(text.starts_with("// a/\n// b \n// c\n//\n// static_assert"));
}
