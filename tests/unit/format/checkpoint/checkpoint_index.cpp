// SPDX-License-Identifier: Apache-2.0
#include <motet/format/checkpoint/checkpoint_index.hpp>

#include <doctest/doctest.h>

#include "unit/format/random_parts.hpp"

using motet::checkpoint_tensor;
using motet::tensor_use;

TEST_CASE("files and pieces have names that a reader understands") {
  using namespace motet::detail;
  CHECK(part_file(tensor_use::weights, 0, 1) == "model.safetensors");
  CHECK(part_file(tensor_use::weights, 1, 4) == "model-00002-of-00004.safetensors");
  CHECK(part_file(tensor_use::optimizer, 99'998, 99'999) == "optimizer-99999-of-99999.safetensors");
  const std::vector<motet::isize> matrix{4, 6}, vector{6}, cube{2, 3, 5};
  CHECK(piece_name("up", matrix, {{0, 4}, {0, 6}}) == "up");
  CHECK(piece_name("up", matrix, {{1, 3}, {0, 6}}) == "up[1:3, 0:6]");
  CHECK(piece_name("up", vector, {{0, 1}, {2, 6}}) == "up[2:6]");
  CHECK(piece_shape(matrix, {{1, 3}, {0, 6}}) == std::vector<motet::isize>{2, 6});
  CHECK(piece_shape(vector, {{0, 1}, {2, 6}}) == std::vector<motet::isize>{4});
  CHECK(piece_shape(cube, {{0, 6}, {0, 5}}) == cube);
  CHECK(piece_shape(cube, {{0, 6}, {0, 4}}) == std::vector<motet::isize>{6, 4});
}

TEST_CASE("pieces that hold each element once are a tensor") {
  std::size_t overlapping = 0, missing = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    drawn from(seed);
    const whole_tensor whole = random_tensors(from, 1)[0];
    checkpoint_tensor tensor{whole.name, whole.shape, motet::dtype::f32, {}};
    const auto parts = cut_between(from, {&whole, 1}, 3);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const auto& slice : parts[part].slices)
        tensor.pieces.push_back({static_cast<motet::isize>(part), slice.covers, {}});
    }
    REQUIRE(motet::detail::tiling_fault(tensor) == "");
    CAPTURE(seed);
    const auto at = static_cast<std::size_t>(from.below(std::ssize(tensor.pieces)));
    checkpoint_tensor twice = tensor, less = tensor;
    twice.pieces.push_back(tensor.pieces[at]);
    less.pieces.erase(less.pieces.begin() + static_cast<std::ptrdiff_t>(at));
    overlapping += motet::detail::tiling_fault(twice).find("is held by part") != std::string::npos ? 1 : 0;
    missing += motet::detail::tiling_fault(less).find("are held by no part") != std::string::npos ? 1 : 0;
  }
  CHECK(overlapping == 300);
  CHECK(missing == 300);
}

TEST_CASE("what is held twice or not at all is named") {
  const checkpoint_tensor twice{
      "up", {4, 6}, motet::dtype::f32, {{0, {{0, 3}, {0, 6}}, {}}, {4, {{2, 4}, {0, 6}}, {}}}};
  CHECK(motet::detail::tiling_fault(twice) == "\"up\" [4, 6]: [2:3, 0:6] is held by part 1 and by part 5");
  // These are as many elements as the tensor has, but not the same.
  const checkpoint_tensor less{
      "up", {4, 6}, motet::dtype::f32, {{0, {{0, 2}, {0, 6}}, {}}, {1, {{2, 4}, {0, 5}}, {}}}};
  CHECK(motet::detail::tiling_fault(less) == "\"up\" [4, 6]: 2 of 24 elements are held by no part");
}

TEST_CASE("the blocks of some bytes are those that hold any of them") {
  const std::vector<std::byte> bytes(25);
  const auto blocks = [&](motet::isize block, motet::isize begin, motet::isize end) {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    motet::detail::each_block(bytes, block, begin, end,
                              [&](std::size_t k, auto some) { out.emplace_back(k, some.size()); });
    return out;
  };
  using found = std::vector<std::pair<std::size_t, std::size_t>>;
  CHECK(blocks(10, 0, 25) == found{{0, 10}, {1, 10}, {2, 5}});
  CHECK(blocks(10, 9, 10) == found{{0, 10}});
  CHECK(blocks(10, 10, 21) == found{{1, 10}, {2, 5}});
  CHECK(blocks(0, 3, 4) == found{{0, 25}});
  CHECK(blocks(INT64_MAX, 3, 25) == found{{0, 25}});
}
