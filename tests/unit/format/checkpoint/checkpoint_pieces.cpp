// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_finish.hpp>

#include <doctest/doctest.h>

#include <fstream>

#include "unit/format/scratch.hpp"

using motet::checkpoint;
using motet::loaded_slice;
using motet::saved_slice;

namespace {

// Two parts, the upper and the lower rows; each has more than two blocks.
constexpr motet::isize rows = 1200, width = 1000, half = 600;

void save(const std::filesystem::path& run, std::int64_t step, float value = 0) {
  std::vector<float> numbers(rows * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = value + static_cast<float>(i);
  const std::vector<saved_slice> upper{{"up", {rows, width}, {{0, half}, {0, width}}, numbers.data()}},
      lower{{"up", {rows, width}, {{half, rows}, {0, width}}, numbers.data() + half * width}};
  motet::write_checkpoint_part(run, {step, "net", 0, 2, upper, {}});
  motet::write_checkpoint_part(run, {step, "net", 1, 2, lower, {}});
  motet::finish_checkpoint(run, {step, "net", 2, {}}, 0);
}
// The result is empty when the rows are read and right.
std::string read(const std::filesystem::path& path, motet::interval of) {
  std::vector<float> numbers(static_cast<std::size_t>(of.size() * width), -1.0f);
  const std::vector<loaded_slice> wanted{{"up", {rows, width}, {of, {0, width}}, numbers.data()}};
  try {
    checkpoint(path).load_slices("net", wanted, {});
  } catch (const motet::error& problem) {
    CHECK(std::string_view(problem.code()) == "MT-R52");
    // Nothing is written to memory when anything is wrong.
    CHECK(std::ranges::all_of(numbers, [](float number) { return number == -1.0f; }));
    return problem.what();
  }
  motet::isize wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    wrong += numbers[i] != static_cast<float>(of.begin * width) + static_cast<float>(i) ? 1 : 0;
  CHECK(wrong == 0);
  return "";
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
const std::string upper_file = "model-00001-of-00002.safetensors",
                  lower_file = "model-00002-of-00002.safetensors";

}  // namespace

TEST_CASE("only what is wanted is looked at") {
  const scratch folder;
  save(folder.path(), 1);
  const auto damaged = folder / ("step-000001/" + lower_file);
  CHECK(read(folder.path(), {590, 610}) == "");
  // The damage is in the last block of the lower part: its rows from 1148 on.
  std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  file.put('\x55');
  file.close();
  CHECK(read(folder.path(), {0, half}) == "");
  CHECK(read(folder.path(), {590, 1100}) == "");
  for (const motet::interval of : {motet::interval{1190, 1191}, {0, rows}}) {
    const std::string said = read(folder.path(), of);
    CHECK(contains(
        said, lower_file + ": tensor \"up[600:1200, 0:1000]\" does not have the bytes that were written"));
  }
}

TEST_CASE("a part of another checkpoint is noticed") {
  const scratch folder, other;
  save(folder.path(), 1);
  save(folder.path(), 2, 1);
  const auto swap_in = [&](const std::filesystem::path& from) {
    std::filesystem::copy_file(from, folder / ("step-000001/" + lower_file),
                               std::filesystem::copy_options::overwrite_existing);
  };
  swap_in(folder / ("step-000002/" + lower_file));
  CHECK(contains(read(folder / "step-000001", {599, 601}), lower_file + " is of step 2, wanted 1"));
  CHECK(read(folder / "step-000001", {0, 600}) == "");
  swap_in(folder / ("step-000001/" + upper_file));
  const std::string said = read(folder / "step-000001", {599, 601});
  CHECK(contains(said, "is of part 1 of 2, wanted 2 of 2"));
  std::filesystem::remove(folder / ("step-000001/" + lower_file));
  CHECK(contains(read(folder / "step-000001", {0, 1}), lower_file + " is missing"));
}

TEST_CASE("a file whose pieces are not those of the index is damaged") {
  const scratch folder;
  const std::vector<float> numbers(64);
  const auto write = [&](std::int64_t step, motet::isize middle) {
    const std::vector<saved_slice> upper{{"up", {8, 8}, {{0, middle}, {0, 8}}, numbers.data()}},
        lower{{"up", {8, 8}, {{middle, 8}, {0, 8}}, numbers.data()}};
    motet::write_checkpoint_part(folder.path(), {step, "net", 0, 2, upper, {}});
    motet::write_checkpoint_part(folder.path(), {step, "net", 1, 2, lower, {}});
    motet::finish_checkpoint(folder.path(), {step, "net", 2, {}}, 0);
  };
  write(1, 4);
  // The bytes get another name.
  const auto path = folder / ("step-000001/" + lower_file);
  std::string bytes(motet::mapped_file(path).text());
  bytes.replace(bytes.find("up[4:8"), 6, "up[5:8");
  std::ofstream(path, std::ios::binary) << bytes;
  std::vector<float> to(64);
  const std::vector<loaded_slice> all{motet::whole_slice("up", {8, 8}, to.data())};
  CHECK_THROWS_WITH_AS(checkpoint(folder.path()).load_slices("net", all, {}),
                       doctest::Contains("tensor \"up[4:8, 0:8]\" is missing"), motet::error);
  bytes.replace(bytes.find("up[5:8"), 6, "up[4:8");
  bytes.replace(bytes.find("[4, 8]"), 6, "[8, 4]");
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK_THROWS_WITH_AS(checkpoint(folder.path()).load_slices("net", all, {}),
                       doctest::Contains("is F32 [8, 4], wanted F32 [4, 8]"), motet::error);
  // A header that is no header.
  bytes[8] = 'x';
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK_THROWS_WITH_AS(checkpoint(folder.path()).load_slices("net", all, {}), doctest::Contains("[MT-R52]"),
                       motet::error);
}
