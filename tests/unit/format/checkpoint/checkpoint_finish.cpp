// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_finish.hpp>

#include <doctest/doctest.h>

#include <fstream>

#include "unit/format/scratch.hpp"

using motet::saved_slice;
using names = std::set<std::string>;

namespace {

constexpr motet::isize parts = 3;
const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

// Row `part` of three, of which the last rank has its own in two runs.
std::vector<saved_slice> rows_of(motet::isize part) {
  if (part < 2) return {{"up", {3, 4}, {{part, part + 1}, {0, 4}}, numbers.data() + part}};
  return {{"up", {3, 4}, {{2, 3}, {0, 1}}, numbers.data() + 2},
          {"up", {3, 4}, {{2, 3}, {1, 4}}, numbers.data() + 3}};
}
void write(const std::filesystem::path& run, std::int64_t step, motet::isize part,
           const std::string& model = "net", motet::isize of = parts) {
  const auto rows = rows_of(part);
  motet::write_checkpoint_part(run, {step, model, part, of, rows, {}});
}
std::vector<float> read(const std::filesystem::path& run) {
  std::vector<float> out(12);
  motet::checkpoint(run).load_weights("net", std::vector<motet::loaded_tensor>{{"up", {3, 4}, out.data()}});
  return out;
}
const std::vector<float> wanted{1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6};

std::string refusal(const scratch& folder, const std::string& model = "net") {
  try {
    motet::finish_checkpoint(folder.path(), {9, model, parts, {}});
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
const std::string hidden = ".step-000009.tmp-parts";

}  // namespace

TEST_CASE("parts become a checkpoint that keeps what the program said") {
  const scratch folder;
  for (motet::isize part = 0; part < parts; ++part) write(folder.path(), 9, part);
  CHECK(motet::finish_checkpoint(folder.path(), {9, "net", parts, motet::json{{"epoch", 3}},
                                                 motet::json{{"modules", 1}}}) == folder / "step-000009");
  const motet::checkpoint saved(folder.path());
  CHECK(saved.step() == 9);
  CHECK(saved.model() == "net");
  CHECK(saved.parts() == 3);
  CHECK(saved.state().at("epoch").integer() == 3);
  CHECK(saved.description().at("modules").integer() == 1);
  CHECK_FALSE(saved.has_optimizer());
  CHECK(read(folder.path()) == wanted);
}

TEST_CASE("a part that is not there is named, and the checkpoint before stays") {
  const scratch folder;
  for (motet::isize part = 0; part < parts; ++part) write(folder.path(), 8, part);
  motet::finish_checkpoint(folder.path(), {8, "net", parts, {}});
  for (motet::isize absent = 0; absent < parts; ++absent) {
    for (motet::isize part = 0; part < parts; ++part) {
      if (part != absent) write(folder.path(), 9, part);
    }
    const std::string said = refusal(folder);
    CHECK(contains(said, "part-0000" + std::to_string(absent + 1) + ".json is missing; wanted part " +
                             std::to_string(absent + 1) + " of 3"));
    CHECK(contains(said, "[MT-R55]"));
    CHECK(folder.names() == names{"latest", "step-000008"});
    CHECK(read(folder.path()) == wanted);
  }
}

TEST_CASE("a checkpoint has at least one part") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(motet::finish_checkpoint(folder.path(), {9, "net", 0, {}}),
                       doctest::Contains("[MT-R54]"), motet::error);
  CHECK(folder.names().empty());
}

TEST_CASE("a part of something else is refused") {
  const scratch folder;
  const auto with = [&](auto&& third) {
    write(folder.path(), 9, 0);
    write(folder.path(), 9, 1);
    third();
    const std::string said = refusal(folder);
    CHECK(contains(said, "[MT-R55]"));
    CHECK(folder.names().empty());
    return said;
  };
  CHECK(contains(with([&] { write(folder.path(), 9, 2, "other"); }), "is of model other, wanted net"));
  CHECK(contains(with([&] { write(folder.path(), 9, 2, "net", 4); }), "is of 4 parts, wanted 3"));
  const auto steal = [&](const std::string& name) {
    std::filesystem::copy_file(folder / (".step-000010.tmp-parts/" + name), folder / (hidden + "/" + name));
  };
  write(folder.path(), 10, 2);
  const auto of_step_10 = [&] {
    steal("part-00003.json");
    steal("model-00003-of-00003.safetensors");
  };
  const auto all_but_step_10 = [&](auto&& third) {
    write(folder.path(), 9, 0);
    write(folder.path(), 9, 1);
    third();
    return refusal(folder);
  };
  CHECK(contains(all_but_step_10(of_step_10), "is of step 10, wanted 9"));
  CHECK(folder.names() == names{".step-000010.tmp-parts"});  // somebody writes it
  CHECK(contains(all_but_step_10([&] {
                   write(folder.path(), 9, 2);
                   std::ofstream(folder / (hidden + "/part-00003.json")) << "{";
                 }),
                 "part-00003.json cannot be read"));
  CHECK(contains(all_but_step_10([&] {
                   write(folder.path(), 9, 2);
                   std::filesystem::rename(folder / (hidden + "/part-00001.json"),
                                           folder / (hidden + "/part-00003.json"));
                   write(folder.path(), 9, 0);
                 }),
                 "part-00003.json does not have the contents that were written"));
  CHECK(contains(all_but_step_10([&] {
                   write(folder.path(), 9, 2);
                   std::filesystem::resize_file(folder / (hidden + "/model-00003-of-00003.safetensors"), 100);
                 }),
                 "names model-00003-of-00003.safetensors of"));
}

TEST_CASE("numbers that two ranks own, or none, are named") {
  const scratch folder;
  write(folder.path(), 9, 0);
  write(folder.path(), 9, 1);
  const std::vector<saved_slice> again{{"up", {3, 4}, {{1, 3}, {0, 4}}, numbers.data()},
                                       {"down", {2, 4}, {{0, 1}, {0, 4}}, numbers.data()},
                                       {"same", {4}, {{0, 1}, {0, 4}}, numbers.data()}};
  motet::write_checkpoint_part(folder.path(), {9, "net", 2, parts, again, {}});
  const std::string said = refusal(folder);
  CHECK(contains(said, "\"up\" [3, 4]: [1:2, 0:4] is held by part 2 and by part 3"));
  CHECK(contains(said, "\"down\" [2, 4]: 4 of 8 elements are held by no part"));
  CHECK_FALSE(contains(said, "\"same\""));
  CHECK(contains(said, "[MT-R54]"));
  CHECK(folder.names().empty());

  write(folder.path(), 9, 0);
  const std::vector<saved_slice> other_shape{{"up", {4, 3}, {{0, 4}, {0, 3}}, numbers.data()}};
  motet::write_checkpoint_part(folder.path(), {9, "net", 1, parts, other_shape, {}});
  write(folder.path(), 9, 2);
  CHECK(contains(refusal(folder), "\"up\" is [4, 3] in part 2, [3, 4] in one before"));
}

TEST_CASE("leavings of earlier attempts go, those of later steps stay") {
  const scratch folder;
  std::filesystem::create_directories(folder / ".step-000004.tmp-parts");
  std::filesystem::create_directories(folder / ".step-000007.tmp-1-0");
  std::filesystem::create_directories(folder / ".step-000012.tmp-parts");
  std::filesystem::create_directories(folder / (hidden + "/.part-00002.json.tmp-1-0"));
  write(folder.path(), 9, 3 - 1, "net", 5);  // an attempt with five ranks, killed
  for (motet::isize part = 0; part < parts; ++part) write(folder.path(), 9, part);
  motet::finish_checkpoint(folder.path(), {9, "net", parts, {}});
  CHECK(folder.names() == names{".step-000012.tmp-parts", "latest", "step-000009"});
  CHECK(folder.names("step-000009") == names{"index.json", "model-00001-of-00003.safetensors",
                                             "model-00002-of-00003.safetensors",
                                             "model-00003-of-00003.safetensors"});
  motet::remove_unfinished_checkpoints(folder.path());
  CHECK(folder.names() == names{"latest", "step-000009"});
  CHECK(read(folder.path()) == wanted);
}

TEST_CASE("a run keeps the newest, and the same step is replaced") {
  const scratch folder;
  for (const std::int64_t step : {1, 2, 3, 3, 4}) {
    for (motet::isize part = 0; part < parts; ++part) write(folder.path(), step, part);
    motet::finish_checkpoint(folder.path(), {step, "net", parts, {}}, 3);
  }
  CHECK(folder.names() == names{"latest", "step-000002", "step-000003", "step-000004"});
  CHECK(motet::checkpoint(folder.path()).step() == 4);
}
