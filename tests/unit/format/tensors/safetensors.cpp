// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/tensors/safetensors.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = static_cast<char>(static_cast<unsigned char>(header.size() >> (8 * i)));
  return out + header + data;
}
motet::safetensors_contents read(const std::string& file) {
  return motet::read_safetensors(std::as_bytes(std::span(file)), "test");
}

// Says what is wrong, or nothing.
std::string refusal(const std::string& header, const std::string& data) {
  try {
    read(file_of(header, data));
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string two =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
    R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";

}  // namespace

TEST_CASE("names, types, shapes and bytes of a file") {
  const std::string file = file_of(two, "wxyz12345678");
  const auto contents = read(file);
  REQUIRE(contents.tensors.size() == 2);
  CHECK(contents.tensors[0].name == "a");
  CHECK(contents.tensors[0].kind == motet::dtype::u8);
  CHECK(contents.tensors[1].name == "b");
  CHECK(contents.tensors[1].kind == motet::dtype::f32);
  CHECK(contents.tensors[1].shape == std::vector<motet::isize>{2, 1});
  CHECK(contents.tensors[1].elements() == 2);
  CHECK(std::to_integer<char>(contents.tensors[1].bytes[0]) == '1');
  REQUIRE(contents.metadata.size() == 1);
  CHECK(contents.metadata[0].second == "pt");
}

TEST_CASE("every type has the size of the format") {
  constexpr std::pair<const char*, int> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"U16", 2}, {"I16", 2}, {"U32", 4},     {"I32", 4},    {"U64", 8},
      {"I64", 8},  {"F16", 2}, {"BF16", 2}, {"F32", 4}, {"F64", 8}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const auto& [name, size] : sizes) {
    CAPTURE(name);
    const std::string header = "{\"t\":{\"dtype\":\"" + std::string(name) +
                               "\",\"shape\":[3],\"data_offsets\":[0," + std::to_string(3 * size) + "]}}";
    CHECK(refusal(header, std::string(static_cast<std::size_t>(3 * size), '.')) == "");
    CHECK(name_of(
              read(file_of(header, std::string(static_cast<std::size_t>(3 * size), '.'))).tensors[0].kind) ==
          name);
  }
}

TEST_CASE("empty files, empty tensors, single numbers and padding are allowed") {
  CHECK(refusal("{}", "") == "");
  CHECK(refusal("{}   ", "") == "");
  CHECK(refusal(R"({"n":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234") == "");
  CHECK(
      refusal(
          R"({"n":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"m":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
          "") == "");
  CHECK(
      refusal(
          R"({"n":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]},"o":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          "abc") == "");
}

TEST_CASE("what breaks the format is refused and named") {
  const auto one = [](const std::string& fields) { return "{\"t\":{" + fields + "}}"; };
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,5])"), "12345"),
                 "F32 [1] needs 4"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), "12345"),
                 "\"t\" takes bytes 4 to 0"));
  CHECK(contains(refusal(one(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), "1234"), "F31"));
  CHECK(contains(refusal(one(R"("dtype":3,"shape":[1],"data_offsets":[0,4])"), "1234"), "no dtype"));
  CHECK(contains(refusal(one(R"("shape":[1],"data_offsets":[0,4])"), "1234"), "no dtype"));
  CHECK(contains(refusal(one(R"("dtype":"F32","data_offsets":[0,4])"), "1234"), "no shape"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[1])"), "1234"), "data_offsets"));
  CHECK(
      contains(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,5])"), "1234"), "data_offsets"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "1234"), "not a count"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), "1234"), "not a count"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), "1234"), "not a count"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), "1234"),
                 "not a count"));
  CHECK(contains(refusal(one(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), ""),
                 "beyond 64 bits"));
  CHECK(contains(refusal(one(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"), ""),
                 "beyond 64 bits"));
  CHECK(contains(refusal(R"({"t":7})", ""), "not described by an object"));
  CHECK(contains(refusal(R"({"__metadata__":7})", ""), "__metadata__ is not an object"));
  CHECK(contains(refusal(R"({"__metadata__":{"a":7}})", ""), "\"a\" is not a string"));
  CHECK(contains(refusal(two, "wxyz12345678more"), "4 bytes follow"));
  CHECK(contains(refusal(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab"),
                 "after a gap of 1 bytes"));
  CHECK(contains(
      refusal(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          "abc"),
      "\"b\" begins at byte 1 of the data, overlapping the one before by 1"));
  CHECK(contains(
      refusal(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "ab"),
      "\"a\" occurs twice"));
  CHECK(contains(refusal("[]", ""), "does not begin with {"));
  CHECK(contains(refusal("", ""), "does not begin with {"));
  CHECK(contains(refusal(" {}", ""), "does not begin with {"));
  CHECK(contains(refusal("{} x", ""), "MT-F01"));
}

TEST_CASE("a cut file says what is missing") {
  CHECK(contains(refusal(two, "wxyz12345"),
                 "\"b\" ends at byte 12 of the data, of which there are 9; 3 bytes are missing"));
  CHECK(contains(refusal(two, "wx"),
                 "\"a\" ends at byte 4 of the data, of which there are 2; 10 bytes are missing"));
  CHECK_THROWS_WITH_AS(read("1234567"), doctest::Contains("[MT-F08]"), motet::error);
  CHECK_THROWS_WITH_AS(read(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)),
                       doctest::Contains("at most 100000000"), motet::error);
  const std::string whole = file_of(two, "wxyz12345678");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_WITH_AS(read(whole.substr(0, length)), doctest::Contains("[MT-F08]"), motet::error);
  }
}

TEST_CASE("a damaged header is read or refused, nothing else") {
  const std::string whole = file_of(two, "wxyz12345678");
  std::uint64_t state = 1;
  const auto draw = [&](std::size_t limit) {
    return static_cast<std::size_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) %
           limit;
  };
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = whole;
    for (std::size_t i = 1 + draw(2); i > 0; --i)
      file[draw(file.size() - 12)] = static_cast<char>(static_cast<unsigned char>(draw(256)));
    try {
      const auto contents = read(file);
      std::size_t bytes = 0;
      for (const auto& tensor : contents.tensors) bytes += tensor.bytes.size();
      REQUIRE(bytes == 12);
    } catch (const motet::error&) {
      ++refused;
    }
  }
  CHECK(refused > 10000);
  CHECK(refused < 20000);
}

TEST_CASE("a file is found by the names in it") {
  const scratch folder;
  motet::write_file(folder / "x.safetensors", file_of(two, "wxyz12345678"));
  const motet::safetensors_file file(folder / "x.safetensors");
  CHECK(file.at("a").elements() == 4);
  CHECK(file.find("c") == nullptr);
  CHECK(file.bytes() == 8 + two.size() + 12);
  CHECK_THROWS_WITH_AS(file.at("c"), doctest::Contains("x.safetensors has no tensor \"c\""), motet::error);
}
