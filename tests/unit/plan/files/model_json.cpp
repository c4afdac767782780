// SPDX-License-Identifier: Apache-2.0
#include "file_refusals.hpp"
#include "fuzz/model_targets.hpp"
#include "fuzz/mutate.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/plan/files/model_json.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>

using namespace motet;
using laws::with;

namespace {

const std::string clip = R"({
  "name": "my clip",
  "towers": [
    {"name": "vision", "layers": 24, "width": 1536, "heads": 16, "tokens": 577, "frozen": true, "patch": 588},
    {"name": "text", "layers": 12, "width": 1024, "heads": 16, "tokens": 77, "vocabulary": 49408, "causal": true}
  ],
  "join": "sigmoid"
})";
const std::string everything = R"({
  "name": "every field of every tower",
  "towers": [
    {"name": "a", "layers": 2, "width": 48, "heads": 5, "tokens": 6, "vocabulary": 7, "key_heads": 5, "head_width": 16, "hidden": 90, "embedding": 9,
     "experts": 4, "chosen": 3, "uneven": 1.3, "frozen": true, "cached": true, "causal": true, "gated": true, "rms": true, "positions": false, "rotary": true,
     "cut_vocabulary": true, "ring": true, "end": "attention"},
    {"name": "b", "layers": 3, "width": 64, "heads": 8, "tokens": 5, "patch": 12, "class_row": true, "patch_bias": true, "pre_norm": true, "end": "mean"},
    {"name": "c", "layers": 3, "width": 64, "heads": 8, "tokens": 5, "end": "block_of_row"}
  ],
  "join": {"loss": "info_nce", "towers": ["c", "a", "b"]},
  "edges": [["a", "info_nce"], {"from": "b", "to": "info_nce"}]
})";
const std::string one_tower = R"({"name": "t", "layers": 1, "width": 8, "heads": 2, "tokens": 3})";
std::string towers(const std::string& rest) {
  return R"({"towers": [{"name": "a", "layers": 1, "width": 8, "heads": 2, "tokens": 3}, {"name": "b", "layers": 1, "width": 8, "heads": 2, "tokens": 3}])" +
         rest + "}";
}

void check_refused(const std::string& text, const std::string& code, const std::string& says) {
  laws::check_refused(
      [](const std::string& from, const std::string& path) { static_cast<void>(parse_model(from, path)); },
      text, code, says);
}

}  // namespace

TEST_CASE("towers and their join; what is left out keeps its usual value") {
  const model_shape of = parse_model(clip, "clip");
  CHECK((of.name.view() == "my clip" && of.join.view() == "sigmoid" && of.towers.size() == 2));
  tower_outline vision, text;
  vision.name = "vision";
  vision.layers = 24;
  vision.width = 1536;
  vision.heads = text.heads = 16;
  vision.tokens = 577;
  vision.frozen = true;
  vision.patch = 588;
  text.name = "text";
  text.layers = 12;
  text.width = 1024;
  text.tokens = 77;
  text.vocabulary = 49408;
  text.causal = true;
  vision.embedding = text.embedding = 1024;  // of the narrowest
  CHECK((of.towers[0] == vision && of.towers[1] == text));
  CHECK(parse_model("{\"towers\": [" + one_tower + "]}", "").join.view() == "info_nce");
}

TEST_CASE("every field is read, and written again") {
  const model_shape of = parse_model(everything, "everything");
  const tower_outline &a = of.towers[0], &b = of.towers[1], &c = of.towers[2];
  CHECK((a.vocabulary == 7 && a.key_heads == 5 && a.head_width == 16 && a.hidden == 90 && a.experts == 4 &&
         a.uneven == 1.3 && a.chosen == 3));
  CHECK((a.frozen && a.cached && a.causal && a.gated && a.rms && !a.positions && a.rotary &&
         a.cut_vocabulary && a.ring));
  CHECK((a.end == tower_end::attention && b.end == tower_end::mean && c.end == tower_end::block_of_row));
  CHECK((b.patch == 12 && b.class_row && b.patch_bias && b.pre_norm && b.positions && !b.frozen));
  CHECK((a.embedding == 9 && b.embedding == 9 && c.embedding == 9));  // as the one that says it
  CHECK(of.name.view() == "every field of ");
  CHECK(parse_model(format_model(of), "again") == of);
  CHECK(format_model(parse_model(clip, "")) == R"({
  "name": "my clip",
  "towers": [
    {"name": "vision", "layers": 24, "width": 1536, "heads": 16, "tokens": 577, "patch": 588, "embedding": 1024, "frozen": true},
    {"name": "text", "layers": 12, "width": 1024, "heads": 16, "tokens": 77, "vocabulary": 49408, "embedding": 1024, "causal": true}
  ],
  "join": "sigmoid"
}
)");
  for (const known_model& each : known_models)
    CHECK(parse_model(format_model(each.make()), "again") == each.make());
}

TEST_CASE("how uneven a router is assumed to be is never below even") {
  CHECK(parse_model(with(clip, "\"frozen\": true", "\"uneven\": 1"), "").towers[0].uneven == 1);
  CHECK(parse_model(clip, "").towers[0].uneven == 0);  // by lot
  CHECK_THROWS_WITH_AS(parse_model(with(clip, "\"frozen\": true", "\"uneven\": 0.5"), ""),
                       doctest::Contains("towers[0].uneven"), error);
}

TEST_CASE("a cached tower is frozen") {
  CHECK(parse_model(with(clip, "\"frozen\": true", "\"cached\": true"), "").towers[0].frozen);
  check_refused(with(clip, "\"frozen\": true", "\"frozen\": false, \"cached\": true"), "MT-P79",
                "towers[0] is cached and not frozen");
}

TEST_CASE("where towers meet can be said in several ways") {
  for (const char* same :
       {"", R"(, "join": "info_nce")", R"(, "join": ["a", "b"])", R"(, "join": {"towers": ["b", "a"]})",
        R"(, "join": {"loss": "info_nce"})", R"(, "join": [{"loss": "info_nce", "towers": ["a", "b"]}])",
        R"(, "edges": [["a", "info_nce"], ["b", "info_nce"]])", R"(, "edges": [])",
        R"(, "edges": [{"from": "a", "to": "info_nce"}, {"from": "b", "to": "info_nce"}])",
        R"(, "join": "info_nce", "edges": [["b", "info_nce"]])"})
    CHECK(parse_model(towers(same), "same") == parse_model(towers(""), "same"));
  for (const char* sigmoid :
       {R"(, "join": {"loss": "sigmoid"})", R"(, "edges": [["a", "sigmoid"], ["b", "sigmoid"]])"})
    CHECK(parse_model(towers(sigmoid), "").join.view() == "sigmoid");
}

TEST_CASE("what cannot be planned yet is told") {
  check_refused(towers(R"(, "edges": [["a", "b"]])"), "MT-P78",
                "edges[0]: a feeds b; the planner knows towers that meet in a loss alone");
  check_refused(towers(R"(, "edges": [["a", "a"]])"), "MT-P78", "edges[0]: a feeds itself");
  check_refused(towers(R"(, "edges": [["a", "info_nce"]])"), "MT-P78", "b is in no join");
  check_refused(towers(R"(, "join": ["a"])"), "MT-P78", "b is in no join");
  check_refused(towers(R"(, "join": [{"towers": ["a", "b"]}, {"loss": "sigmoid"}])"), "MT-P78",
                "join[1] is a second join");
  check_refused(towers(R"(, "join": "info_nce", "edges": [["a", "sigmoid"]])"), "MT-P78",
                "edges[0] is sigmoid, but towers meet in info_nce as well");
}

TEST_CASE("from a file or by name") {
  const auto path =
      std::filesystem::temp_directory_path() / ("motet_model_" + std::to_string(::getpid()) + ".json");
  write_file(path, clip);
  CHECK(choose_model(path.string()) == parse_model(clip, ""));
  write_file(path, "{");
  CHECK_THROWS_WITH_AS(load_model(path), doctest::Contains(path.filename().c_str()), error);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(choose_model(path.string()), doctest::Contains("MT-F04"), error);
  CHECK(choose_model("clip-19.7b") == find_model("clip-19.7b")->make());
  CHECK_THROWS_WITH_AS(choose_model("clip"), doctest::Contains("got \"clip\", wanted one of quick, tiny"),
                       error);
  CHECK_THROWS_WITH_AS(choose_model(""), doctest::Contains("MT-P82"), error);
}

TEST_CASE("what is no model is refused, with the path of what is wrong") {
  check_refused("{", "MT-F01", "line 1");
  check_refused("[]", "MT-P71", "the model is an array, wanted an object");
  check_refused("{}", "MT-P71", "towers is missing");
  check_refused(R"({"towers": []})", "MT-P72", "towers is empty, wanted 1 to 8");
  check_refused(R"({"towers": {}})", "MT-P71", "towers is an object, wanted an array");
  check_refused(R"({"towers": [3]})", "MT-P71", "towers[0] is an integer, wanted an object");
  check_refused(with(clip, "\"my clip\"", "7"), "MT-P71", "name is an integer, wanted a name");
  check_refused(with(clip, "\"my clip\"", "\"\""), "MT-P71", "name is empty");
  check_refused(with(clip, "\"name\": \"my clip\"", "\"title\": \"my clip\""), "MT-P70",
                "title; wanted one of name, towers, join, edges");
  check_refused(with(clip, "\"frozen\"", "\"froze\""), "MT-P70",
                "towers[0].froze; wanted one of name, layers, width, heads, tokens, vocabulary");
  for (const std::string required :
       {"\"name\": \"t\", ", "\"layers\": 1, ", "\"width\": 8, ", "\"heads\": 2, ", ", \"tokens\": 3"}) {
    const std::size_t from = required.find('"') + 1, to = required.find('"', from);
    check_refused("{\"towers\": [" + with(one_tower, required, "") + "]}", "MT-P71",
                  "towers[0]." + required.substr(from, to - from) + " is missing");
  }
  check_refused(with(clip, "\"layers\": 12", "\"layers\": 0"), "MT-P72",
                "towers[1].layers is 0, wanted 1 to 65536");
  check_refused(with(clip, "\"layers\": 12", "\"layers\": -1"), "MT-P72", "towers[1].layers is -1");
  check_refused(with(clip, "\"layers\": 12", "\"layers\": \"12\""), "MT-P71",
                "towers[1].layers is a string, wanted an integer");
  check_refused(with(clip, "\"layers\": 12", "\"layers\": 12.5"), "MT-P71",
                "towers[1].layers is a number, wanted an integer");
  check_refused(with(clip, "\"frozen\": true", "\"frozen\": 1"), "MT-P71",
                "towers[0].frozen is an integer, wanted true or false");
  check_refused(with(clip, "\"text\"", "\"a text transformer\""), "MT-P71",
                "towers[1].name has a name of 18 letters, wanted 1 to 15");
  check_refused(with(clip, "\"text\"", "\"vision\""), "MT-P80", "towers[1] is called vision as towers[0] is");
  check_refused(with(clip, "\"heads\": 16", "\"heads\": 7"), "MT-P79",
                "towers[0]: 7 heads do not divide a width of 1536; change one, or say head_width");
  check_refused(with(clip, "\"causal\": true", "\"key_heads\": 5"), "MT-P79",
                "towers[1]: 5 key_heads do not divide 16 heads");
  check_refused(with(clip, "\"causal\": true", "\"experts\": 2, \"chosen\": 3"), "MT-P79",
                "towers[1]: 3 of 2 experts cannot be chosen");
  check_refused(with(clip, "\"causal\": true", "\"patch\": 3"), "MT-P79",
                "towers[1] has a vocabulary of 49408 and patches of 3 numbers");
  check_refused(
      with(with(clip, "\"causal\": true", "\"embedding\": 5"), "\"patch\": 588", "\"embedding\": 6"),
      "MT-P79", "towers[1].embedding is 5, but features of 6");
  check_refused(with(everything, "\"end\": \"mean\"", "\"end\": \"middle\""), "MT-P71",
                "towers[1].end is \"middle\", wanted one of row, block_of_row, mean, attention");
  check_refused(with(clip, "\"sigmoid\"", "\"softmax\""), "MT-P71",
                "join is \"softmax\", wanted one of info_nce, sigmoid");
  check_refused(with(clip, "\"sigmoid\"", "3"), "MT-P71", "join is an integer, wanted a loss");
  check_refused(with(clip, "\"sigmoid\"", "[]"), "MT-P71", "join is an empty array");
  check_refused(towers(R"(, "join": {"kind": "info_nce"})"), "MT-P70",
                "join.kind; wanted one of loss, towers");
  check_refused(towers(R"(, "join": ["a", "c"])"), "MT-P80", "join[1] names \"c\"; there are a, b");
  check_refused(towers(R"(, "join": ["a", "a"])"), "MT-P80", "join[1] names a twice");
  check_refused(towers(R"(, "join": {"towers": [1]})"), "MT-P71",
                "join.towers[0] is an integer, wanted the name of a tower");
  check_refused(towers(R"(, "edges": [["a", "loss"]])"), "MT-P80", "edges[0] names \"loss\"; there are a, b");
  check_refused(towers(R"(, "edges": [["a"]])"), "MT-P71", "edges[0] is an array, wanted [from, to]");
  check_refused(towers(R"(, "edges": [{"from": "a"}])"), "MT-P71", "edges[0].to is missing");
  std::string nine = "{\"towers\": [";
  for (char name = 'a'; name < 'j'; ++name)
    nine += (name > 'a' ? ", " : "") + with(one_tower, "\"t\"", std::string("\"") + name + "\"");
  check_refused(nine + "]}", "MT-P72", "towers[8] is one more than there may be, wanted 1 to 8");
}

TEST_CASE("damaged models are refused or read, never worse") {
  const std::vector<std::string> seeds{clip, everything, towers(R"(, "join": ["a", "b"])"),
                                       towers(R"(, "edges": [["a", "sigmoid"], ["b", "sigmoid"]])")};
  int counts[2] = {};
  for (std::uint64_t n = 0; n < 4000; ++n) ++counts[fuzz_model_json(mutated(seeds, n))];
  CHECK(counts[0] > 1000);
  // Other numbers in the same places are models more often.
  constexpr const char* numbers[] = {"0", "1", "2", "4", "8", "16", "-1", "1048576", "99999999999", "true"};
  const random_stream draws(11, 0);
  std::uint64_t drawn = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string text = seeds[draws.below(drawn++, 2)];
    std::size_t at = draws.below(drawn++, static_cast<std::uint32_t>(text.size()));
    while (at < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[at])) == 0 || text[at - 1] != ' '))
      ++at;
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    ++counts[fuzz_model_json(text.replace(at, end - at, numbers[draws.below(drawn++, 10)]))];
  }
  CHECK(counts[1] > 400);
}
