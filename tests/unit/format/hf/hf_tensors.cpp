// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_tensors.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

TEST_CASE("what is saved by a map is loaded by it; what lacks is named, and nothing is written") {
  const scratch folder;
  const std::vector<motet::hf_tensor> map{{"a", {{"x", {2, 3}}, {"y", {1, 3}}}}, {"b", {{"z", {}}}}};
  CHECK(map[0].elements() == 9);
  std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 8, 9}, b{10}, back(9), one(1);
  const std::vector<motet::saved_tensor> from{
      {"a", {3, 3}, a.data()}, {"b", {1}, b.data()}, {"loss.c", {1}, b.data()}};
  motet::save_hf_tensors(folder / "made", map, from, "{}\n", "loss.");
  CHECK(motet::mapped_file(folder / "made/config.json").text() == "{}\n");
  const motet::tensor_set set(folder / "made");
  CHECK(set.at("y").shape == std::vector<motet::isize>{1, 3});
  motet::load_hf_tensors(
      set, map, std::vector<motet::loaded_tensor>{{"a", {3, 3}, back.data()}, {"b", {1}, one.data()}});
  CHECK(back == a);
  CHECK(one == b);
  CHECK_THROWS_WITH_AS(motet::save_hf_tensors(folder / "other", map, from, "{}", ""),
                       doctest::Contains("unexpected  loss.c [1]"), motet::error);
  CHECK_FALSE(std::filesystem::exists(folder / "other"));

  // Halves in several files are rounded, and found again in the place of the older file.
  std::vector<float> rounded(9);
  motet::save_hf_tensors(folder / "made", map, from, "{}\n", "loss.", {motet::dtype::bf16, 12});
  const motet::tensor_set halves(folder / "made");
  CHECK(halves.files().size() == 2);
  CHECK(halves.at("x").kind == motet::dtype::bf16);
  motet::load_hf_tensors(
      halves, map, std::vector<motet::loaded_tensor>{{"a", {3, 3}, rounded.data()}, {"b", {1}, one.data()}});
  CHECK(rounded == a);
  b[0] = 65520;
  CHECK_THROWS_WITH_AS(
      motet::save_hf_tensors(folder / "made", map, from, "{}", "loss.", {motet::dtype::f16, 12}),
      doctest::Contains("\"z\" holds 65520"), motet::error);
  CHECK(motet::tensor_set(folder / "made").at("x").kind == motet::dtype::bf16);
  CHECK(motet::hf_name_of(motet::dtype::f16) == "float16");
}
