// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/input_traits.hpp>

#include <unit/runtime/small_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE(
    "a part of packed pictures has the origin of the whole, and only its form and scale make another shape") {
  using traits = input_traits<small_picture::net>;
  const std::uint8_t bytes[96] = {};
  const packed_picture each[3] = {{0, 16, 4, 1, 0}, {16, 16, 5, 2, 1}, {48, 16, 2, 1, 0}};
  pictures all{nullptr, 3, {bytes, each, each, {1, 2, 3}, {4, 5, 6}}};
  traits::storage none;
  const pictures some = traits::slice(all, 1, 2, none);
  CHECK(some.samples == 2);
  CHECK(some.packed.origin == each);
  CHECK(some.packed.of(1) == bytes + 48);
  const auto shape = [](const pictures& of) {
    std::vector<motet::index> found;
    traits::shape(of, found);
    return found;
  };
  const std::vector<motet::index> before = shape(all);
  all.packed.each += 1;
  CHECK(shape(all) == before);
  all.packed.shift[2] = 7;
  CHECK(shape(all) != before);
  CHECK(shape(pictures{nullptr, 3}) != before);
}
