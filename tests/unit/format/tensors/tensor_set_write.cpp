// SPDX-License-Identifier: Apache-2.0
#include <motet/format/tensors/tensor_set.hpp>
#include <motet/format/tensors/tensor_set_write.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

namespace {

using motet::dtype;
using motet::tensor_set;
using motet::tensor_set_writer;

std::size_t write(const scratch& folder, std::uint64_t most, float value) {
  const std::vector<float> numbers(4, value);
  tensor_set_writer writer(folder.path(),
                           {{"a", dtype::f32, {2}}, {"b", dtype::f32, {4}}, {"c", dtype::f32, {}}}, most);
  for (const auto& [name, count] : {std::pair("c", 1u), std::pair("a", 2u), std::pair("b", 4u)})
    writer.write(name, std::as_bytes(std::span(numbers).first(count)));
  writer.commit();
  return writer.files();
}
float first_of(const scratch& folder, std::string_view name) {
  const tensor_set set(folder.path());
  float value = 0;
  std::memcpy(&value, set.at(name).bytes.data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a set is one file or several, and is read back whatever stood there") {
  const scratch folder;
  float value = 0;
  // All of it, two files, one for each tensor as none fits beside another, and back again.
  for (const auto& [most, files] :
       {std::pair(28u, 1u), std::pair(27u, 2u), std::pair(1u, 3u), std::pair(8u, 3u), std::pair(1000u, 1u)}) {
    value += 1;
    CHECK(write(folder, most, value) == files);
    CHECK(tensor_set(folder.path()).files().size() == files);
    for (const char* name : {"a", "b", "c"}) CHECK(first_of(folder, name) == value);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "model.safetensors.index.json"));
}

TEST_CASE("an index tells the bytes of all tensors, and an unfinished set leaves the older one") {
  const scratch folder;
  write(folder, 8, 1);
  const motet::mapped_file index(folder / "model.safetensors.index.json");
  CHECK(motet::read_json(index.text(), "index").at("metadata").at("total_size").integer() == 28);
  CHECK(std::filesystem::exists(folder / "model-00003-of-00003.safetensors"));
  CHECK_FALSE(std::filesystem::exists(folder / "model.safetensors"));
  {
    tensor_set_writer unfinished(folder.path(), {{"a", dtype::f32, {2}}}, 8);
    CHECK_THROWS_WITH_AS(unfinished.write("b", {}), doctest::Contains("was not declared"), motet::error);
  }
  CHECK(first_of(folder, "b") == 1);
  CHECK_THROWS_WITH_AS(tensor_set_writer(folder.path(), {{"a", dtype::f32, {2}}, {"a", dtype::f32, {2}}}, 8),
                       doctest::Contains("declared twice"), motet::error);
}
