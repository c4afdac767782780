// SPDX-License-Identifier: Apache-2.0
#include <motet/format/tensors/convert.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <csignal>

#include "unit/format/scratch.hpp"

using motet::declared_tensor;
using motet::dtype;
using motet::safetensors_writer;

TEST_CASE("what is written reads back, whatever the order of writing") {
  const scratch folder;
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> ids{7, 8};
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::vector<motet::bf16> half{motet::bf16(1.5f)};
  const double number = 0.1;
  safetensors_writer writer(folder / "x.safetensors",
                            {{"bytes", dtype::u8, {3}},
                             {"a", dtype::f32, {2, 3}},
                             {"none", dtype::f32, {0, 9}},
                             {"ids", dtype::i64, {2}},
                             {"half", dtype::bf16, {1, 1}},
                             {"number", dtype::f64, {}}},
                            {{"format", "pt"}, {"made by", "a \"test\""}});
  writer.write("number", &number);
  writer.write("half", half.data());
  writer.write("a", a.data());
  writer.write("bytes", bytes.data());
  writer.write("ids", ids.data());
  CHECK_FALSE(std::filesystem::exists(folder / "x.safetensors"));
  writer.commit();

  const motet::safetensors_file file(folder / "x.safetensors");
  CHECK(file.tensors().size() == 6);
  CHECK(file.metadata().size() == 2);
  CHECK(file.metadata()[1].second == "a \"test\"");
  std::vector<float> floats(6);
  motet::copy_elements(file.at("a"), floats.data());
  CHECK(floats == a);
  CHECK(file.at("a").shape == std::vector<motet::isize>{2, 3});
  motet::copy_elements(file.at("half"), floats.data());
  CHECK(floats[0] == 1.5f);
  std::vector<std::int64_t> integers(2);
  motet::copy_elements(file.at("ids"), integers.data());
  CHECK(integers == ids);
  double real = 0;
  motet::copy_elements(file.at("number"), &real);
  CHECK(real == number);
  CHECK(file.at("none").elements() == 0);
  // Every tensor lies on a multiple of its element's size.
  for (const auto& tensor : file.tensors()) {
    const auto start = static_cast<motet::isize>(tensor.bytes.data() - file.tensors()[0].bytes.data());
    CHECK(start % motet::dtype_bytes(tensor.kind) == 0);
  }
  const motet::mapped_file raw(folder / "x.safetensors");
  CHECK(std::to_integer<int>(raw.bytes()[0]) % 8 == 0);
}

TEST_CASE("random sets of tensors round-trip") {
  const scratch folder;
  std::uint64_t state = 3;
  const auto draw = [&](std::size_t limit) {
    return static_cast<std::size_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) %
           limit;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<declared_tensor> declared;
    std::vector<std::vector<std::uint8_t>> contents;
    for (std::size_t i = draw(9); i > 0; --i) {
      const dtype kind = static_cast<dtype>(draw(15));
      std::vector<motet::isize> shape;
      motet::isize elements = 1;
      for (std::size_t d = draw(4); d > 0; --d)
        elements *= shape.emplace_back(static_cast<motet::isize>(draw(5)));
      declared.push_back({"tensor " + std::to_string(i), kind, shape});
      auto& bytes = contents.emplace_back(static_cast<std::size_t>(elements * motet::dtype_bytes(kind)));
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw(256));
    }
    safetensors_writer writer(folder / "x", declared);
    for (std::size_t i = declared.size(); i-- > 0;)
      writer.write(declared[i].name, std::as_bytes(std::span(contents[i])));
    writer.commit();
    const motet::safetensors_file file(folder / "x");
    REQUIRE(file.tensors().size() == declared.size());
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const auto& tensor = file.at(declared[i].name);
      REQUIRE(tensor.kind == declared[i].kind);
      REQUIRE(tensor.shape == declared[i].shape);
      REQUIRE(std::ranges::equal(tensor.bytes, std::as_bytes(std::span(contents[i]))));
    }
  }
}

TEST_CASE("the header and the calls must agree") {
  const scratch folder;
  const float values[4] = {};
  const auto path = folder / "x";
  CHECK_THROWS_WITH_AS(safetensors_writer(path, {{"a", dtype::f32, {1}}, {"a", dtype::f32, {1}}}),
                       doctest::Contains("declared twice"), motet::error);
  CHECK_THROWS_AS(safetensors_writer(path, {{"__metadata__", dtype::f32, {1}}}), motet::error);
  CHECK_THROWS_AS(safetensors_writer(path, {{"a", dtype::f32, {motet::isize{1} << 62, 4}}}), motet::error);
  CHECK_THROWS_AS(safetensors_writer(path, {{"\xff", dtype::f32, {1}}}), motet::error);
  {
    safetensors_writer writer(path, {{"a", dtype::f32, {2}}, {"b", dtype::f32, {2}}});
    CHECK_THROWS_WITH_AS(writer.write("c", values), doctest::Contains("\"c\" was not declared"),
                         motet::error);
    CHECK_THROWS_WITH_AS(writer.write("a", std::as_bytes(std::span(values))),
                         doctest::Contains("takes 8 bytes, got 16"), motet::error);
    const double wide[2] = {};
    CHECK_THROWS_WITH_AS(writer.write("a", wide), doctest::Contains("declared as F32, got F64"),
                         motet::error);
    writer.write("a", values);
    CHECK_THROWS_WITH_AS(writer.write("a", values), doctest::Contains("twice"), motet::error);
    CHECK_THROWS_WITH_AS(writer.commit(), doctest::Contains("\"b\" was declared and never written"),
                         motet::error);
  }
  CHECK(folder.names().empty());
}

TEST_CASE("a full disk leaves the older file and nothing else") {
  const scratch folder;
  const std::vector<float> values(10'000, 1.0f);
  {
    safetensors_writer writer(folder / "x", {{"a", dtype::f32, {1}}});
    writer.write("a", values.data());
    writer.commit();
  }
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string problem;
  try {
    safetensors_writer writer(folder / "x", {{"a", dtype::f32, {10'000}}});
    writer.write("a", values.data());
    writer.commit();
  } catch (const motet::error& thrown) {
    problem = thrown.code();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(problem == "MT-F06");
  CHECK(folder.names() == std::set<std::string>{"x"});
  CHECK(motet::safetensors_file(folder / "x").at("a").elements() == 1);
}
