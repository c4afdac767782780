// SPDX-License-Identifier: Apache-2.0
#include <motet/run/phases.hpp>

#include <motet/format/files/atomic_file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

std::vector<run_phase> phases_of(const char* text) {
  const scratch folder;
  write_file(folder / "phases.json", std::string_view(text));
  return read_phases((folder / "phases.json").string());
}

}  // namespace

TEST_CASE("a phase has a name and words of its own") {
  const auto found = phases_of(
      R"([{"name": "glue", "model": "say", "steps": 200, "lr": 0.001, "no-flip": true, "strict": false}, {"name": "all-2"}])");
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "glue");
  CHECK(found[0].words ==
        std::vector<std::string>{"--model", "say", "--steps", "200", "--lr", "0.001", "--no-flip"});
  CHECK(found[0].says("--lr"));
  CHECK_FALSE(found[0].says("--begin"));
  CHECK(found[1].words.empty());
}

TEST_CASE("a file that is no list of phases is refused, and the message says where") {
  const std::pair<const char*, const char*> faults[] = {
      {"{}", "wanted a list of objects, each with a name and the options of a phase, got an object"},
      {"[]", "got an empty one"},
      {R"([{"name": "a"}, 3])", "phase 2 is an integer, wanted an object"},
      {R"([{"steps": 3}])", "phase 1 needs a name of letters, digits, - and _"},
      {R"([{"name": "a/b"}])", "phase 1 needs a name"},
      {R"([{"name": "a"}, {"name": "a"}])", "two phases are called a"},
      {R"([{"name": "a", "resume": true}])",
       "a has resume, which is of all phases; say --resume on the command line"},
      {R"([{"name": "a", "steps": [3]}])", "a's steps is an array, wanted a text, a number, true or false"}};
  for (const auto& [text, says] : faults) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(phases_of(text), doctest::Contains(says), error);
    CHECK_THROWS_WITH_AS(phases_of(text), doctest::Contains("phases.json"), error);
  }
}

TEST_CASE("each phase has folders and files of its own") {
  CHECK(folder_of_phase("runs/one", "glue") == "runs/one/glue");
  CHECK(folder_of_phase("", "glue").empty());
  CHECK(file_of_phase("logs/told.jsonl", "glue") == "logs/told-glue.jsonl");
  CHECK(file_of_phase("", "glue").empty());
}
