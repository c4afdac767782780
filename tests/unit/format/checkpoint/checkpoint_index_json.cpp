// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_index_json.hpp>

#include <fuzz/checkpoint_targets.hpp>
#include <fuzz/mutate.hpp>

#include <doctest/doctest.h>

using motet::checkpoint_index;
using motet::json;
using motet::tensor_use;

namespace {

checkpoint_index example() {
  checkpoint_index out;
  out.step = 7;
  out.model = "tiny";
  out.state = json{{"epoch", 3}};
  out.parts = 2;
  out.block = 16;
  out.of(tensor_use::weights) = {
      {{"up", {4, 2}, motet::dtype::f32, {{0, {{0, 3}, {0, 2}}, {"a", "b"}}, {1, {{3, 4}, {0, 2}}, {"c"}}}},
       {"bias", {3}, motet::dtype::f32, {{1, {{0, 1}, {0, 3}}, {"d"}}}}},
      {100, 200}};
  out.of(tensor_use::optimizer) = {{{"up.m", {4, 2}, motet::dtype::f32, {{1, {{0, 4}, {0, 2}}, {"e", "f"}}}}},
                                   {std::nullopt, 300}};
  return out;
}
std::string refusal(std::string text, std::string_view part, std::string_view by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  text.replace(at, part.size(), by);
  try {
    motet::read_checkpoint_index(motet::read_json(text));
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}

}  // namespace

TEST_CASE("an index is the same after writing and reading") {
  const std::string text = motet::write_checkpoint_index(example());
  const json whole = motet::read_json(text);
  CHECK(motet::detail::seal_holds(whole));
  CHECK(whole.at("version").integer() == 2);
  const checkpoint_index read = motet::read_checkpoint_index(whole);
  CHECK(read.step == 7);
  CHECK(read.model == "tiny");
  CHECK(read.state.at("epoch").integer() == 3);
  CHECK(read.parts == 2);
  CHECK(read.block == 16);
  CHECK(read.of(tensor_use::weights).tensors[0].pieces[1].covers.rows.begin == 3);
  CHECK(read.of(tensor_use::weights).tensors[0].pieces[0].checksums == std::vector<std::string>{"a", "b"});
  CHECK(read.of(tensor_use::optimizer).files[1] == 300);
  CHECK_FALSE(read.of(tensor_use::optimizer).files[0]);
  CHECK(motet::write_checkpoint_index(read) == text);
}

TEST_CASE("one part with whole tensors is of version 1") {
  checkpoint_index one = example();
  one.parts = 1;
  one.block = 0;
  one.of(tensor_use::weights) = {{{"up", {4, 2}, motet::dtype::f32, {{0, {{0, 4}, {0, 2}}, {"a"}}}}}, {100}};
  one.of(tensor_use::optimizer) = {{}, {std::nullopt}};
  const json whole = motet::read_json(motet::write_checkpoint_index(one));
  CHECK(whole.at("version").integer() == 1);
  CHECK(whole.at("tensors").at("up").string() == "a");
  CHECK(whole.at("files").members().size() == 1);
  CHECK(whole.find("parts") == nullptr);
  CHECK(motet::read_checkpoint_index(whole).of(tensor_use::weights).files[0] == 100);
}

TEST_CASE("a file's name tells whose it is") {
  using motet::detail::owner_of_file;
  for (const motet::isize parts : {1, 2, 31, 99'999}) {
    for (const tensor_use use : motet::tensor_uses) {
      for (const motet::isize part : {motet::isize{0}, parts / 2, parts - 1})
        CHECK(owner_of_file(motet::detail::part_file(use, part, parts), parts) == std::pair(use, part));
    }
  }
  for (const char* name : {"", "model", "model.safetensors", "model-", "model-00000-of-00002.safetensors",
                           "model-00003-of-00002.safetensors", "model-00001-of-00003.safetensors",
                           "model-1-of-00002.safetensors", "model--0001-of-00002.safetensors",
                           "models-00001-of-00002.safetensors", "model-00001-of-00002.safetensors/..",
                           "model-99999999999999999999-of-00002.safetensors"})
    CHECK_FALSE(owner_of_file(name, 2));
  CHECK_FALSE(owner_of_file("model-00001-of-00001.safetensors", 1));
}

TEST_CASE("a changed index is not the one that was sealed") {
  json whole = motet::read_json(motet::write_checkpoint_index(example()));
  whole.set("step", 8);
  CHECK_FALSE(motet::detail::seal_holds(whole));
}

TEST_CASE("what makes no sense is refused with its tensor's name") {
  // On one line, so that the places to change are short.
  const std::string text = motet::write_json(motet::read_json(motet::write_checkpoint_index(example())));
  const auto says = [&](std::string_view part, std::string_view by, std::string_view wanted) {
    const std::string said = refusal(text, part, by);
    CAPTURE(said);
    CHECK(said.find(wanted) != std::string::npos);
  };
  says("\"rows\": [0, 3]", "\"rows\": [0, 5]", "rows is 5, wanted 0 to 4");
  says("\"rows\": [0, 3]", "\"rows\": [0, 5]", "at tensor \"up\"");
  says("\"rows\": [0, 3]", "\"rows\": [3, 3]", "rows end at 3");
  says("\"rows\": [0, 3]", "\"rows\": [-1, 3]", "rows is -1");
  says("\"rows\": [0, 3]", "\"rows\": [0]", "rows are not [begin, end]");
  says("\"part\": 1", "\"part\": 2", "a part is 2, wanted 0 to 1");
  says("\"columns\": [0, 3]", "\"columns\": [0, 4]", "at tensor \"bias\"");
  says("\"shape\": [4, 2]", "\"shape\": [4611686018427387904, 2]", "more than 64 bits count");
  says("\"shape\": [4, 2]", "\"shape\": [4, -2]", "an extent is -2");
  says("[\"a\", \"b\"]", "[\"a\"]", "1 checksums of a piece, wanted 2");
  says("\"parts\": 2", "\"parts\": 0", "at least one part");
  says("\"parts\": 2", "\"parts\": 100000", "wanted 0 to 99999");
  says("\"parts\": 2", "\"parts\": 3", "unknown file model-00001-of-00002.safetensors");
  says("model-00001-of-00002.safetensors", "../../../etc/passwd", "unknown file ../../../etc/passwd");
  says("\"model-00001-of-00002.safetensors\": 100, ", "",
       "\"up\" is in model-00001-of-00002.safetensors, which the index does not name");
}

TEST_CASE("any damage is refused or read as an index") {
  std::vector<std::string> seeds{
      motet::write_checkpoint_index(example()),
      motet::write_json(motet::read_json(motet::write_checkpoint_index(example())))};
  checkpoint_index one = example();
  one.block = 0;
  one.parts = 1;
  one.uses = {};
  one.of(tensor_use::weights) = {{{"up", {4, 2}, motet::dtype::f32, {{0, {{0, 4}, {0, 2}}, {"a"}}}}}, {100}};
  seeds.push_back(motet::write_checkpoint_index(one));
  std::size_t read = 0;
  for (const std::string& seed : seeds) read += fuzz_checkpoint_index(seed) ? 1 : 0;
  CHECK(read == seeds.size());
  read = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) read += fuzz_checkpoint_index(mutated(seeds, run)) ? 1 : 0;
  CHECK(read > 30);
  CHECK(read < 2000);
}
