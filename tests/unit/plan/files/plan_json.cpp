// SPDX-License-Identifier: Apache-2.0
#include "file_refusals.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/plan_targets.hpp"
#include "train_clip/plans.hpp"
#include "unit/plan/random_plans.hpp"

#include <motet/format/files/atomic_file.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace motet;
using laws::with;

namespace {

const std::string apart = R"({
  "cluster": {"ranks": 7},
  "modules": {
    "picture": {"degrees": {"stages": 2, "tensor": 2}, "ranks": {"first": 0}, "microbatches": 8, "group": 4, "stash": 2},
    "caption": {"degrees": {"data": 3}, "ranks": [4, 5, 6], "microbatches": 4, "group": 2}
  }
})";
const std::string everything = R"({
  "cluster": {"ranks": 64, "ranks_per_node": 8, "tensor_may_cross_nodes": true}, "schedule": "gpipe",
  "modules": {
    "picture": {"degrees": {"stages": 2, "data": 3, "context": 2, "tensor": 4}, "ranks": {"first": 5}, "chunks": 2, "layers": [1, 1, 1, 1],
                "remade": [true, false, true, false], "microbatches": 8, "group": 4, "stash": 2, "ahead": 1, "zero": 1, "balanced": false},
    "caption": {"ranks": [63]}
  }
})";

void check_refused(const std::string& text, const std::string& code, const std::string& says) {
  laws::check_refused(
      [](const std::string& from, const std::string& path) { static_cast<void>(parse_plan(from, path)); },
      text, code, says);
}

}  // namespace

TEST_CASE("a plan is read by the names of its modules, and what is left out keeps its usual value") {
  const plan of = parse_plan(apart, "apart");
  CHECK((of.cluster == cluster_shape{.ranks = 7} && of.schedule.view() == "batch_sync"));
  REQUIRE(of.modules.size() == 2);
  module_plan picture = on_ranks("picture", 0, degrees{.stages = 2, .tensor = 2}, 8),
              caption = on_ranks("caption", 4, degrees{.data = 3}, 4);
  picture.group = 4;
  picture.stash = 2;
  caption.group = 2;
  CHECK((of.modules[0] == picture && of.modules[1] == caption));
}

TEST_CASE("modules that fill gaps are read, written, and read again") {
  const std::string text = R"({"cluster": {"ranks": 2}, "schedule": "interleaved", "modules": {
    "eye": {"degrees": {"data": 2}, "ranks": {"first": 0}, "fills": true, "room": 2, "forward_takes": 1.5, "backward_takes": 0.25},
    "talk": {"degrees": {"stages": 2}, "ranks": {"first": 0}, "chunks": 2}}})";
  const plan of = parse_plan(text, "filled");
  const module_plan& eye = of.modules[0];
  CHECK((eye.fills && eye.room == 2 && eye.forward_takes == 1.5 && eye.backward_takes == 0.25));
  CHECK((!of.modules[1].fills && of.modules[1].forward_takes == 0));
  const std::string open = with(text, "\"fills\": true", "\"fills\": true, \"chunks\": 0");
  CHECK(parse_plan(open, "filled").modules[0].chunks == 0);
  CHECK(parse_plan(format_plan(of), "again") == of);
  CHECK(format_plan(of).find(
            "\"talk\": {\"degrees\": {\"stages\": 2}, \"ranks\": {\"first\": 0}, \"chunks\": 2}") !=
        std::string::npos);
  check_refused(with(text, "1.5", "-1"), "MT-P72", "modules.eye.forward_takes");
  check_refused(with(text, "\"fills\": true", "\"fills\": 1"), "MT-P71", "modules.eye.fills");
}

TEST_CASE("modules that are multiplexed are read, written, and read again") {
  const std::string text = R"({"cluster": {"ranks": 2}, "schedule": "1f1b", "modules": {
    "eye": {"degrees": {"data": 2}, "ranks": {"first": 0}, "multiplexed": true, "ahead": 1},
    "talk": {"degrees": {"stages": 2}, "ranks": {"first": 0}}}})";
  const plan of = parse_plan(text, "multiplexed");
  CHECK((of.modules[0].multiplexed && of.modules[0].ahead == 1 && !of.modules[1].multiplexed));
  CHECK(parse_plan(format_plan(of), "again") == of);
  CHECK(format_plan(of).find("\"ahead\": 1, \"multiplexed\": true") != std::string::npos);
  check_refused(with(text, "true", "1"), "MT-P71", "modules.eye.multiplexed");
}

TEST_CASE("samples that stay whole are said by their rows") {
  const std::string text = R"({"cluster": {"ranks": 2}, "modules": {
    "talk": {"degrees": {"context": 2}, "ranks": {"first": 0}, "long_rows": 512}}})";
  const plan of = parse_plan(text, "whole");
  CHECK(of.modules[0].long_rows == 512);
  CHECK(parse_plan(format_plan(of), "again") == of);
  CHECK(parse_plan(with(text, "512", "-1"), "open").modules[0].long_rows == long_rows_chosen);
  check_refused(with(text, "512", "-2"), "MT-P72", "modules.talk.long_rows");
}

TEST_CASE("replicas share experts by a number of the plan") {
  const std::string text = R"({"cluster": {"ranks": 4}, "modules": {
    "talk": {"degrees": {"data": 4}, "ranks": {"first": 0}, "experts": 2}}})";
  const plan of = parse_plan(text, "experts");
  CHECK(of.modules[0].experts == 2);
  CHECK(parse_plan(format_plan(of), "again") == of);
  check_refused(with(text, "\"experts\": 2", "\"experts\": 0"), "MT-P72", "modules.talk.experts");
}

TEST_CASE("a number of pieces may be left open, and is written so") {
  const std::string text = R"({"cluster": {"ranks": 2}, "modules": {
    "talk": {"degrees": {"tensor": 2}, "ranks": {"first": 0}, "pieces": 0}}})";
  const plan of = parse_plan(text, "open");
  CHECK(of.modules[0].pieces == 0);
  CHECK(parse_plan(format_plan(of), "again") == of);
  CHECK(parse_plan(with(text, ", \"pieces\": 0", ""), "said").modules[0].pieces == 1);
  check_refused(with(text, "\"pieces\": 0", "\"pieces\": -1"), "MT-P72", "modules.talk.pieces");
}

TEST_CASE("every field is read") {
  const plan of = parse_plan(everything, "everything");
  CHECK((of.cluster == cluster_shape{64, 8, true} && of.schedule.view() == "gpipe"));
  const module_plan& own = of.modules[0];
  CHECK(own.on == mesh::from(5, degrees{2, 3, 2, 4}));
  CHECK((own.chunks == 2 && own.layers == list<motet::isize>{1, 1, 1, 1} &&
         own.remade == list<std::uint8_t>{1, 0, 1, 0}));
  CHECK((own.microbatches == 8 && own.group == 4 && own.stash == 2 && own.ahead == 1 && own.zero == 1 &&
         !own.balanced));
  CHECK((of.modules[1].on == mesh(degrees{}, {63}) && of.modules[1].microbatches == 1 &&
         of.modules[1].balanced));
}

TEST_CASE("what is written is read again, and short") {
  CHECK(parse_plan(format_plan(parse_plan(everything, "")), "") == parse_plan(everything, ""));
  CHECK(
      write_json(plan_json(parse_plan(apart, ""))) ==
      R"({"cluster": {"ranks": 7}, "schedule": "batch_sync", "modules": {)"
      R"("picture": {"degrees": {"stages": 2, "tensor": 2}, "ranks": {"first": 0}, "microbatches": 8, "group": 4, "stash": 2}, )"
      R"("caption": {"degrees": {"data": 3}, "ranks": {"first": 4}, "microbatches": 4, "group": 2}}})");
  CHECK(format_plan(parse_plan(
            R"({"cluster": {"ranks": 1}, "modules": {"a": {"ranks": [0]}, "b": {"ranks": [0], "zero": 1}}})",
            "")) == R"({
  "cluster": {"ranks": 1},
  "schedule": "batch_sync",
  "modules": {
    "a": {"ranks": {"first": 0}},
    "b": {"ranks": {"first": 0}, "zero": 1}
  }
}
)");
  laws::dice roll(31);
  for (int n = 0; n < 300; ++n) {
    const plan of = random_plan(roll, tower_facts());
    REQUIRE(parse_plan(format_plan(of), "again") == of);
  }
  for (const named_plan& each : train_clip::plans)
    CHECK(parse_plan(format_plan(each.make()), "again") == each.make());
}

TEST_CASE("from a file, whose name is told") {
  const auto path =
      std::filesystem::temp_directory_path() / ("motet_plan_" + std::to_string(::getpid()) + ".json");
  write_file(path, apart);
  CHECK(load_plan(path) == parse_plan(apart, ""));
  write_file(path, "{");
  CHECK_THROWS_WITH_AS(load_plan(path), doctest::Contains(path.filename().c_str()), error);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(load_plan(path), doctest::Contains("MT-F04"), error);
}

TEST_CASE("what is no plan is refused, with the path of what is wrong") {
  check_refused("{", "MT-F01", "line 1");
  check_refused("[]", "MT-P71", "the plan is an array, wanted an object");
  check_refused("{}", "MT-P71", "cluster is missing");
  check_refused(R"({"cluster": {"ranks": 2}})", "MT-P71", "modules is missing");
  check_refused(with(apart, "\"cluster\": {\"ranks\": 7}", "\"cluster\": {}"), "MT-P71",
                "cluster.ranks is missing");
  check_refused(with(apart, "\"cluster\": {\"ranks\": 7}", "\"cluster\": 7"), "MT-P71",
                "cluster is an integer, wanted an object");
  check_refused(with(apart, "\"ranks\": 7", "\"ranks\": \"7\""), "MT-P71",
                "cluster.ranks is a string, wanted an integer");
  check_refused(with(apart, "\"ranks\": 7", "\"ranks\": 7.0"), "MT-P71",
                "cluster.ranks is a number, wanted an integer");
  check_refused(with(apart, "\"ranks\": 7", "\"ranks\": 0"), "MT-P72",
                "cluster.ranks is 0, wanted 1 to 1048576");
  check_refused(with(apart, "\"ranks\": 7", "\"ranks\": 18446744073709551615"), "MT-P72",
                "cluster.ranks is 18446744073709551615");
  check_refused(with(apart, "\"ranks\": 7", "\"ranks\": 7, \"nodes\": 2"), "MT-P70",
                "cluster.nodes; wanted one of ranks, ranks_per_node, tensor_may_cross_nodes");
  check_refused(with(apart, "\"modules\"", "\"schedule\": 1, \"modules\""), "MT-P71",
                "schedule is an integer");
  check_refused(with(apart, "\"modules\"", "\"schedule\": \"one_forward_one_backward\", \"modules\""),
                "MT-P71", "wanted 1 to 15");
  check_refused(with(apart, "\"modules\"", "\"batch\": 4, \"modules\""), "MT-P70",
                "batch; wanted one of cluster, schedule, modules");
  check_refused(R"({"cluster": {"ranks": 1}, "modules": []})", "MT-P71",
                "modules is an array, wanted an object");
  check_refused(R"({"cluster": {"ranks": 1}, "modules": {"picture": 1}})", "MT-P71",
                "modules.picture is an integer");
  check_refused(R"({"cluster": {"ranks": 1}, "modules": {"picture": {}}})", "MT-P71",
                "modules.picture.ranks is missing");
  check_refused(R"({"cluster": {"ranks": 1}, "modules": {"": {}}})", "MT-P71", "a name of 0 letters");
  check_refused(R"({"cluster": {"ranks": 1}, "modules": {"a\u0000b": {"ranks": [0]}}})", "MT-P71",
                "a name of 3 letters");
  check_refused(with(apart, "\"tensor\": 2", "\"tensors\": 2"), "MT-P70",
                "modules.picture.degrees.tensors; wanted one of stages, data, context, tensor");
  check_refused(with(apart, "\"tensor\": 2", "\"tensor\": 0"), "MT-P72",
                "modules.picture.degrees.tensor is 0, wanted 1 to");
  check_refused(with(apart, "\"stages\": 2, \"tensor\": 2", "\"stages\": 1048576, \"tensor\": 1048576"),
                "MT-P72", "modules.picture.degrees multiply");
  check_refused(with(apart, "\"stash\": 2", "\"stash\": -2"), "MT-P72",
                "modules.picture.stash is -2, wanted -1 to");
  check_refused(with(apart, "\"stash\": 2", "\"stashed\": 2"), "MT-P70", "modules.picture.stashed");
  check_refused(with(apart, "[4, 5, 6]", "[4, 5, true]"), "MT-P71",
                "modules.caption.ranks[2] is a boolean, wanted an integer");
  check_refused(with(apart, "[4, 5, 6]", "[4, -5, 6]"), "MT-P72", "modules.caption.ranks[1] is -5");
  check_refused(with(apart, "[4, 5, 6]", "4"), "MT-P71",
                "modules.caption.ranks is an integer, wanted an array of ranks, or {\"first\": N}");
  check_refused(with(apart, "{\"first\": 0}", "{\"first\": 0, \"last\": 3}"), "MT-P70",
                "modules.picture.ranks.last");
  check_refused(with(apart, "{\"first\": 0}", "{}"), "MT-P71", "modules.picture.ranks.first is missing");
  check_refused(with(everything, "[true, false, true, false]", "[1, 0, 1, 0]"), "MT-P71",
                "modules.picture.remade[0] is an integer, wanted true or false");
  check_refused(with(everything, "[1, 1, 1, 1]", "{}"), "MT-P71",
                "modules.picture.layers is an object, wanted an array");
  check_refused(with(everything, "\"balanced\": false", "\"balanced\": 0"), "MT-P71",
                "modules.picture.balanced is an integer");
  // Names occur once, as in all of our JSON.
  check_refused(with(apart, "\"caption\"", "\"picture\""), "MT-F01", "occurs twice");
}

TEST_CASE("damaged plans are refused or read, never worse") {
  const std::vector<std::string> seeds{apart, everything};
  int counts[3] = {};
  for (std::uint64_t n = 0; n < 4000; ++n) ++counts[fuzz_plan_json(mutated(seeds, n))];
  CHECK(counts[0] > 1000);
  // Other numbers in the same places are plans more often, which fit or do not.
  laws::dice roll(41);
  constexpr const char* numbers[] = {"0", "1",  "2",       "3",           "4",   "6",
                                     "8", "-1", "1048576", "99999999999", "true"};
  for (int n = 0; n < 3000; ++n) {
    std::string text = seeds[static_cast<std::size_t>(roll.below(4) == 0 ? 1 : 0)];
    for (int changes = roll.between(1, 3); changes > 0; --changes) {
      std::size_t at = static_cast<std::size_t>(roll.below(std::ssize(text)));
      while (at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) == 0) ++at;
      if (std::isdigit(static_cast<unsigned char>(text[at])) != 0)
        text.replace(at, 1, numbers[roll.below(11)]);
    }
    ++counts[fuzz_plan_json(text)];
  }
  CHECK(counts[1] > 300);
  CHECK(counts[2] > 100);
}

TEST_CASE("of a search's result the first plan is read") {
  const std::string result =
      R"({"search": "motet", "plans": [{"step_seconds": 0.5, "plan": )" + apart + R"(}, {"plan": {}}]})";
  CHECK(parse_plan(result, "p.json") == parse_plan(apart, "apart"));
  check_refused(R"({"plans": []})", "MT-P84", "plans is empty");
  for (const char* bad :
       {R"({"plans": [7]})", R"({"plans": {}})", R"({"plans": 7})", R"({"plans": [{"step_seconds": 1}]})"})
    check_refused(bad, "MT-P84", "plans[0].plan is missing");
  check_refused(with(result, "\"data\"", "\"dat\""), "MT-P70", "modules.caption.degrees.dat");
  check_refused(with(result, "\"data\"", "\"dat\""), "MT-P70", "at plans[0].plan at my.json");
}
