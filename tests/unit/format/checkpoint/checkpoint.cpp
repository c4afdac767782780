// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <fuzz/mutate.hpp>

#include <doctest/doctest.h>

#include <fstream>

#include "unit/format/scratch.hpp"

using motet::checkpoint;
using motet::json;
using motet::loaded_tensor;
using motet::saved_tensor;

namespace {

const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{7, 8}, m{9};

void save(const std::filesystem::path& run, std::int64_t step) {
  const std::vector<saved_tensor> weights{{"a", {2, 3}, a.data()}, {"b", {2}, b.data()}},
      moments{{"b.m", {1}, m.data()}};
  motet::save_checkpoint(run, {step, "tiny 0123", json{{"rate", 0.1}, {"epoch", 3}}, weights, moments}, 0);
}

struct room {
  std::vector<float> a = std::vector<float>(6), b = std::vector<float>(2), m = std::vector<float>(1);
  std::vector<loaded_tensor> weights{{"a", {2, 3}, a.data()}, {"b", {2}, b.data()}},
      moments{{"b.m", {1}, m.data()}};
};

std::string refusal(const std::filesystem::path& path, room& to) {
  try {
    checkpoint(path).load("tiny 0123", to.weights, to.moments);
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string read_all(const std::filesystem::path& path) {
  return std::string(motet::mapped_file(path).text());
}
void write_all(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("everything that was saved is loaded") {
  const scratch folder;
  save(folder.path(), 5);
  save(folder.path(), 12);
  const checkpoint newest(folder.path());
  CHECK(newest.step() == 12);
  CHECK(newest.model() == "tiny 0123");
  CHECK(newest.state().at("epoch").integer() == 3);
  CHECK(newest.state().at("rate").number() == 0.1);
  CHECK(newest.kept("epoch")->integer() == 3);
  CHECK(newest.kept("age") == nullptr);
  room to;
  newest.load("tiny 0123", to.weights, to.moments);
  CHECK(to.a == a);
  CHECK(to.b == b);
  CHECK(to.m == m);
  CHECK(checkpoint(folder / "step-000005").step() == 5);
}

TEST_CASE("the newest complete checkpoint is found without the pointer") {
  const scratch folder;
  CHECK_FALSE(motet::latest_checkpoint(folder.path()));
  CHECK_FALSE(motet::latest_checkpoint(folder / "absent"));
  CHECK_THROWS_WITH_AS(checkpoint(folder.path()), doctest::Contains("[MT-R50]"), motet::error);
  save(folder.path(), 5);
  save(folder.path(), 12);
  std::filesystem::remove(folder / "latest");
  CHECK(checkpoint(folder.path()).step() == 12);
  motet::write_file(folder / "latest", "step-000099\n");
  CHECK(checkpoint(folder.path()).step() == 12);
  std::filesystem::create_directory(folder / "step-000020");  // not complete
  std::filesystem::create_directory(folder / "step-old");
  CHECK(checkpoint(folder.path()).step() == 12);
  // It is not passed over either where it was the newest, and lost its index.
  motet::write_file(folder / "latest", "step-000020\n");
  CHECK_THROWS_WITH_AS(checkpoint(folder.path()), doctest::Contains("[MT-R52]"), motet::error);
}

TEST_CASE("every tensor that does not fit is named, and nothing is written") {
  const scratch folder;
  save(folder.path(), 1);
  room to;
  to.weights[0].shape = {3, 2};
  to.weights[1].name = "c";
  to.moments[0].name = "c.m";
  const std::string said = refusal(folder.path(), to);
  CHECK(contains(said, "a is F32 [2, 3], wanted F32 [3, 2]"));
  CHECK(contains(said, "missing     c [2]"));
  CHECK(contains(said, "unexpected  b [2]"));
  CHECK(contains(said, "missing     c.m [1]"));
  CHECK(contains(said, "unexpected  b.m [1]"));
  CHECK(contains(said, "[MT-R53]"));
  CHECK(to.a == std::vector<float>(6));
  room more;
  more.moments.clear();
  CHECK(contains(refusal(folder.path(), more), "unexpected  b.m [1]"));
  checkpoint(folder.path()).load_weights("tiny 0123", more.weights);
  CHECK(more.a == a);
}

TEST_CASE("another version is refused before anything else is believed") {
  const scratch folder;
  save(folder.path(), 1);
  const auto path = folder / "step-000001/index.json";
  std::string text = read_all(path);
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 3");
  write_all(path, text);
  room to;
  CHECK(contains(refusal(folder.path(), to), "has version 3, this program reads 1 to 2"));
  CHECK(contains(refusal(folder.path(), to), "[MT-R51]"));
}

TEST_CASE("each damaged byte of each file is noticed") {
  const scratch folder;
  save(folder.path(), 1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "index.json"}) {
    const auto path = folder / "step-000001" / name;
    const std::string good = read_all(path);
    const bool text = std::string_view(name) == "index.json";
    for (std::size_t at = 0; at < good.size(); ++at) {
      CAPTURE(name);
      CAPTURE(at);
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      write_all(path, damaged);
      room to;
      const std::string said = refusal(folder.path(), to);
      const bool noticed = contains(said, "[MT-R5");
      // Space between JSON values carries nothing, and neither does the header's metadata.
      const bool harmless = text ? !noticed && to.a == a
                                 : !noticed && to.a == a && to.b == b && to.m == m && at < good.find("F32");
      CHECK((noticed || harmless));
    }
    write_all(path, good);
  }
  room to;
  CHECK(refusal(folder.path(), to) == "");
}

TEST_CASE("each cut of each file is noticed, and so is a missing file") {
  const scratch folder;
  save(folder.path(), 1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "index.json"}) {
    const auto path = folder / "step-000001" / name;
    const std::string good = read_all(path);
    for (std::size_t length = 0; length + 1 < good.size(); ++length) {
      write_all(path, std::string_view(good).substr(0, length));
      room to;
      CAPTURE(name);
      CAPTURE(length);
      CHECK(contains(refusal(folder.path(), to), "[MT-R52]"));
    }
    write_all(path, good);
  }
  std::filesystem::remove(folder / "step-000001/optimizer.safetensors");
  room to;
  CHECK(contains(refusal(folder.path(), to), "optimizer.safetensors is missing"));
}

TEST_CASE("changed numbers are named by their tensor") {
  const scratch folder;
  save(folder.path(), 1);
  const auto path = folder / "step-000001/model.safetensors";
  std::string bytes = read_all(path);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);
  write_all(path, bytes);
  room to;
  CHECK(contains(refusal(folder.path(), to), "tensor \"b\" does not have the bytes that were written"));
}

namespace {

// "a" by rows and within a row, "b" whole in the second part.
void save_parts(const std::filesystem::path& run, std::int64_t step) {
  const motet::rectangle all = motet::matrix_of(std::vector<motet::isize>{2, 3});
  for (const motet::isize part : {0, 1}) {
    std::vector<motet::saved_slice> own, moment;
    motet::append_run<const float>(own, "a", {2, 3}, all,
                                   part == 0 ? motet::interval{0, 4} : motet::interval{4, 6},
                                   a.data() + 4 * part);
    if (part == 1) own.push_back(motet::whole_slice("b", {2}, b.data()));
    if (part == 0) moment.push_back(motet::whole_slice("b.m", {1}, m.data()));
    motet::write_checkpoint_part(run, {step, "tiny 0123", part, 2, own, moment});
  }
  motet::finish_checkpoint(run, {step, "tiny 0123", 2, json{{"rate", 0.1}, {"epoch", 3}}}, 0);
}
const char* const part_names[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                  "optimizer-00001-of-00002.safetensors", "index.json"};

}  // namespace

TEST_CASE("a checkpoint of parts is one like any other") {
  const scratch folder;
  save_parts(folder.path(), 12);
  const checkpoint saved(folder.path());
  CHECK(saved.parts() == 2);
  CHECK(saved.step() == 12);
  CHECK(saved.state().at("epoch").integer() == 3);
  CHECK(saved.has_optimizer());
  CHECK(saved.optimizer().front().name == "b.m");
  CHECK(saved.weights().front().shape == std::vector<motet::isize>{2, 3});
  CHECK(saved.weights().front().elements() == 6);
  room to;
  saved.load("tiny 0123", to.weights, to.moments);
  CHECK(to.a == a);
  CHECK(to.b == b);
  CHECK(to.m == m);
  room other;
  other.weights[0].shape = {3, 2};
  other.weights[1].name = "c";
  const std::string said = refusal(folder.path(), other);
  CHECK(contains(said, "a is F32 [2, 3], wanted F32 [3, 2]"));
  CHECK(contains(said, "missing     c [2]"));
  CHECK(contains(said, "unexpected  b [2]"));
}

TEST_CASE("slices are compared with what is there; the rest of the model may be somebody else's") {
  const scratch folder;
  save_parts(folder.path(), 1);
  const checkpoint saved(folder.path());
  std::vector<float> to(2, -1.0f);
  const std::vector<motet::loaded_slice> column{{"a", {2, 3}, {{0, 2}, {1, 2}}, to.data()}};
  saved.load_slices("tiny 0123", column, {});
  CHECK(to == std::vector<float>{2, 5});
  const std::vector<motet::loaded_slice> other{{"a", {2, 4}, {{0, 2}, {1, 2}}, to.data()},
                                               {"c", {1}, {{0, 1}, {0, 1}}, to.data()}};
  CHECK_THROWS_WITH_AS(saved.load_slices("tiny 0123", other, {}), doctest::Contains("missing     c [1]"),
                       motet::error);
  CHECK_THROWS_WITH_AS(saved.load_slices("tiny 0123", other, {}),
                       doctest::Contains("a is F32 [2, 3], wanted F32 [2, 4]"), motet::error);
  const std::vector<motet::loaded_slice> outside{{"a", {2, 3}, {{1, 3}, {1, 2}}, to.data()}};
  CHECK_THROWS_WITH_AS(saved.load_slices("tiny 0123", outside, {}),
                       doctest::Contains("wanted [1:3, 1:2] of it"), motet::error);
  CHECK(to == std::vector<float>{2, 5});
  const std::vector<motet::expected_tensor> weights{{"a", {2, 3}}, {"b", {2}}}, moments{{"b.m", {1}}},
      more{{"b.m", {1}}, {"b.v", {1}}};
  saved.expect("tiny 0123", weights, moments);
  CHECK_THROWS_WITH_AS(saved.expect("tiny 0123", weights, more), doctest::Contains("missing     b.v [1]"),
                       motet::error);
  CHECK_THROWS_WITH_AS(saved.expect("tiny 0123", weights, {}), doctest::Contains("unexpected  b.m [1]"),
                       motet::error);
}

TEST_CASE("each damaged byte and each cut of each part is noticed") {
  const scratch folder;
  save_parts(folder.path(), 1);
  std::size_t harmless = 0, changes = 0;
  for (const char* name : part_names) {
    const auto path = folder / "step-000001" / name;
    const std::string good = read_all(path);
    for (std::size_t at = 0; at < good.size(); ++at, ++changes) {
      CAPTURE(name);
      CAPTURE(at);
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      write_all(path, damaged);
      room to;
      const std::string said = refusal(folder.path(), to);
      // Space carries nothing, nor does what the metadata says about other programs.
      harmless += said.empty() ? 1 : 0;
      CHECK((contains(said, "[MT-R5") ? to.a == std::vector<float>(6) && to.b == std::vector<float>(2)
                                      : to.a == a && to.b == b && to.m == m));
      if (at + 1 == good.size()) continue;
      write_all(path, std::string_view(good).substr(0, at));
      CHECK(contains(refusal(folder.path(), to), "[MT-R52]"));
    }
    std::filesystem::remove(path);
    room to;
    CHECK(contains(refusal(folder.path(), to),
                   name == std::string_view("index.json") ? "[MT-R52]" : "is missing"));
    write_all(path, good);
  }
  CHECK(harmless < changes / 2);
  room to;
  CHECK(refusal(folder.path(), to) == "");
}

TEST_CASE("whatever an index says, nothing is read that is not there") {
  const scratch folder;
  save_parts(folder.path(), 1);
  const auto path = folder / "step-000001/index.json";
  json good = motet::read_json(read_all(path));
  good.set("checksum", "");
  const std::vector<std::string> seeds{motet::write_json(good)};
  std::size_t read = 0;
  for (std::uint64_t run = 0; run < 600; ++run) {
    json changed;
    try {
      changed = motet::read_json(mutated(seeds, run));
      if (!changed.is_object()) continue;
    } catch (const motet::error&) {
      continue;
    }
    json::object rest;
    for (const auto& [name, value] : changed.members()) {
      if (name != "checksum") rest.insert(name, value);
    }
    std::ofstream(path) << motet::detail::sealed(json(std::move(rest)));
    room to;
    const std::string said = refusal(folder.path(), to);
    CHECK((said.empty() || contains(said, "[MT-R5")));
    read += said.empty() ? 1 : 0;
  }
  CHECK(read > 0);
}
