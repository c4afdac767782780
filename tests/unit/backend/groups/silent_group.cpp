// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/silent_group.hpp>

#include <motet/backend/groups/any_group.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;
static_assert(collective_group<silent_group>);

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int each : values) out.push_back(static_cast<std::byte>(each));
  return out;
}

}  // namespace

TEST_CASE("own numbers stand for the others'") {
  const silent_group group(3, 1);
  const std::vector<motet::isize> bytes{3, 2, 1};
  std::vector<std::byte> all(6);
  group.all_gather(bytes_of({7, 8}).data(), all.data(), bytes);
  CHECK(all == bytes_of({7, 8, 7, 7, 8, 7}));
  // The own part stays in its place.
  all = bytes_of({0, 0, 0, 5, 6, 0});
  group.all_gather(all.data() + 3, all.data(), bytes);
  CHECK(all == bytes_of({5, 6, 5, 5, 6, 5}));
  // A member that brings nothing fills with zeros.
  const std::vector<motet::isize> none{2, 0, 1};
  all.resize(3);
  group.all_gather(all.data() + 2, all.data(), none);
  CHECK(all == bytes_of({0, 0, 0}));
}

TEST_CASE("parts may lie apart") {
  const silent_group group(2, 1);
  const std::vector<motet::isize> counts{1, 2}, places{0, 3};
  std::vector<std::byte> all = bytes_of({0, 9, 9, 5, 6});
  group.all_gather(all.data() + 3, all.data(), counts, places);
  CHECK(all == bytes_of({5, 9, 9, 5, 6}));
  std::vector<float> numbers{1, 2, 3, 4, 5}, part(2, 0);
  group.reduce_scatter_sum(numbers.data(), part.data(), counts, places);
  CHECK(part == std::vector<float>{4, 5});
}

TEST_CASE("a sum is what this rank brings") {
  const silent_group group(3, 2);
  const std::vector<motet::isize> counts{1, 2, 2};
  std::vector<float> numbers{1, 2, 3, 4, 5}, part(2, 0);
  group.reduce_scatter_sum(numbers.data(), part.data(), counts);
  CHECK(part == std::vector<float>{4, 5});
  group.reduce_scatter_sum(numbers.data(), numbers.data() + 3, counts);
  group.all_reduce_sum(numbers.data(), 5);
  CHECK(numbers == std::vector<float>{1, 2, 3, 4, 5});
}

TEST_CASE("an exchange brings what this rank would send itself") {
  const silent_group group(2, 0);
  const std::vector<motet::isize> from{2, 1}, to{2, 3};
  std::vector<std::byte> got(5);
  group.all_to_all(bytes_of({4, 5, 6}).data(), from, got.data(), to);
  CHECK(got == bytes_of({4, 5, 4, 5, 4}));
}

TEST_CASE("calls are done at once, behind any_group too") {
  silent_group group(4, 3);
  const any_group any(group);
  CHECK(any.size() == 4);
  CHECK(any.member() == 3);
  CHECK(!any.alone());
  std::vector<double> numbers{1, 2};
  any.all_reduce_sum(numbers.data(), 2);
  CHECK(numbers == std::vector<double>{1, 2});
  CHECK(group.test(group.broadcast(nullptr, 0, 0)));
  group.wait(group.barrier());
}
