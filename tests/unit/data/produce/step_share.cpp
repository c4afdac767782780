// SPDX-License-Identifier: Apache-2.0
#include <motet/data/produce/step_share.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Three samples, with two pictures, none and one.
step_words three_samples(bool bytes) {
  step_words out;
  out.pictures = 3;
  out.stretches = {3, 1, 2};
  out.order = {{piece_kind::picture, 0}, {piece_kind::given, 2}, {piece_kind::picture, 0},
               {piece_kind::given, 1},   {piece_kind::asked, 1}, {piece_kind::picture, 0}};
  if (bytes) out.packed = {{0, 2, 1, 2, 1}, {2, 2, 2, 2, 1}, {6, 2, 3, 2, 1}};
  return out;
}

}  // namespace

TEST_CASE("samples have the bytes of their pictures, and a share those of its samples") {
  using all = std::vector<motet::isize>;
  CHECK(picture_begins(three_samples(true), 12) == all{0, 6, 6, 12});
  CHECK(picture_begins(three_samples(false), 12) == all{0, 8, 8, 12});
  const all begins = picture_begins(three_samples(true), 12);
  CHECK(size_of(parts_of({}, begins)) == 12);
  CHECK(size_of(parts_of(std::vector<interval>{}, begins)) == 0);
  CHECK(size_of(parts_of(std::vector<interval>{{0, 1}, {1, 2}}, begins)) == 6);
  CHECK(fits({}, 3));
  CHECK(fits(std::vector<interval>{{0, 1}, {1, 3}}, 3));
  for (const std::vector<interval>& wrong :
       {std::vector<interval>{{0, 4}}, {{-1, 2}}, {{2, 1}}, {{1, 3}, {0, 1}}})
    CHECK_FALSE(fits(wrong, 3));
}

TEST_CASE(
    "parts that came one behind the other go where they belong, with the checksum they were sent with") {
  const std::string whole = "abcdefghijkl";
  const std::vector<interval> parts{{1, 3}, {3, 3}, {4, 5}, {8, 12}};
  const auto* const from = reinterpret_cast<const std::byte*>(whole.data());
  const auto sent = checksum_of_parts(parts, [&](const interval& part) { return from + part.begin; });
  std::string came = "bceijkl.....";
  const auto* at = reinterpret_cast<const std::byte*>(came.data());
  const auto next = [&](const interval& part) { return std::exchange(at, at + part.size()); };
  CHECK(checksum_of_parts(parts, next) == sent);
  spread_parts(parts, reinterpret_cast<std::byte*>(came.data()));
  for (const interval& each : parts)
    CHECK(came.substr(as_size(each.begin), as_size(each.size())) ==
          whole.substr(as_size(each.begin), as_size(each.size())));
  came[9] ^= 1;
  at = reinterpret_cast<const std::byte*>(came.data());
  CHECK(checksum_of_parts(parts, [&](const interval& part) { return at + part.begin; }) != sent);
}
