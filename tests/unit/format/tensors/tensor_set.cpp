// SPDX-License-Identifier: Apache-2.0
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/format/tensors/tensor_set.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

namespace {

void write_shard(const std::filesystem::path& path, const std::vector<std::string>& names) {
  std::vector<motet::declared_tensor> declared;
  for (const auto& name : names) declared.push_back({name, motet::dtype::f32, {1}});
  motet::safetensors_writer writer(path, declared);
  const float value = static_cast<float>(names.size());
  for (const auto& name : names) writer.write(name, &value);
  writer.commit();
}
void write_index(const scratch& folder, const std::string& map) {
  motet::write_file(folder / "model.safetensors.index.json",
                    "{\"metadata\":{\"total_size\":12},\"weight_map\":" + map + "}");
}

}  // namespace

TEST_CASE("one file, by its path or its folder") {
  const scratch folder;
  write_shard(folder / "model.safetensors", {"a", "b"});
  CHECK(motet::tensor_set(folder.path()).size() == 2);
  CHECK(motet::tensor_set(folder / "model.safetensors").at("a").elements() == 1);
  CHECK(motet::tensor_set(folder.path()).find("c") == nullptr);
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()).at("c"), doctest::Contains("\"c\""), motet::error);
}

TEST_CASE("a set of files behind an index") {
  const scratch folder;
  write_shard(folder / "model-00001-of-00002.safetensors", {"a", "b"});
  write_shard(folder / "model-00002-of-00002.safetensors", {"c"});
  write_index(
      folder,
      R"({"a":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors","b":"model-00001-of-00002.safetensors"})");
  const motet::tensor_set set(folder.path());
  CHECK(set.size() == 3);
  CHECK(set.files().size() == 2);
  CHECK(set.at("c").name == "c");
  CHECK(motet::tensor_set(folder / "model.safetensors.index.json").size() == 3);

  std::filesystem::remove(folder / "model-00002-of-00002.safetensors");
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()),
                       doctest::Contains("not beside it: model-00002-of-00002.safetensors"), motet::error);
}

TEST_CASE("a set that contradicts its index is refused") {
  const scratch folder;
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()), doctest::Contains("holds neither"), motet::error);
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder / "absent.safetensors"), doctest::Contains("No such file"),
                       motet::error);
  write_shard(folder / "one", {"a"});
  write_shard(folder / "two", {"a", "b"});
  write_index(folder, R"({"a":"one","b":"one"})");
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()), doctest::Contains("\"b\" is not in one"),
                       motet::error);
  write_index(folder, R"({"a":"one","b":"two"})");
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()), doctest::Contains("\"a\" is in two files"),
                       motet::error);
  write_index(folder, R"({"a":"../one"})");
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()), doctest::Contains("not the name of a file"),
                       motet::error);
  write_index(folder, R"({"a":7})");
  CHECK_THROWS_AS(motet::tensor_set(folder.path()), motet::error);
  write_index(folder, "[]");
  CHECK_THROWS_WITH_AS(motet::tensor_set(folder.path()), doctest::Contains("no weight_map"), motet::error);
}
