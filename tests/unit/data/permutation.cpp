// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/permutation.hpp>

#include <algorithm>
#include <set>
#include <vector>

using namespace motet;

TEST_CASE("every number once, whatever the count") {
  for (motet::isize count = 1; count < 300; ++count) {
    const permutation order(count, 5, static_cast<std::uint64_t>(count % 4));
    std::vector<bool> seen(static_cast<std::size_t>(count));
    for (motet::isize i = 0; i < count; ++i) {
      const motet::isize at = order(i);
      REQUIRE(at >= 0);
      REQUIRE(at < count);
      REQUIRE(!seen[static_cast<std::size_t>(at)]);
      seen[static_cast<std::size_t>(at)] = true;
    }
  }
  std::vector<bool> seen(70001);
  const permutation order(70001, 1, 1);
  for (motet::isize i = 0; i < 70001; ++i) seen[static_cast<std::size_t>(order(i))] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) == 70001);
}

TEST_CASE("seeds and epochs give other orders, the same ones the same") {
  const auto first = [](std::uint64_t seed, std::uint64_t epoch) {
    const permutation order(1000, seed, epoch);
    std::vector<motet::isize> out;
    for (motet::isize i = 0; i < 10; ++i) out.push_back(order(i));
    return out;
  };
  std::set<std::vector<motet::isize>> different;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) different.insert(first(seed, epoch));
  }
  CHECK(different.size() == 25);
  CHECK(first(3, 4) == first(3, 4));
}

TEST_CASE("places and numbers look unrelated") {
  // The rank correlation of a random order of n is about 1/sqrt(n).
  const motet::isize count = 10000;
  const permutation order(count, 9, 0);
  double sum = 0;
  motet::isize neighbours = 0;
  for (motet::isize i = 0; i < count; ++i) {
    sum += (static_cast<double>(i) - 4999.5) * (static_cast<double>(order(i)) - 4999.5);
    if (i > 0 && std::abs(order(i) - order(i - 1)) == 1) ++neighbours;
  }
  const double correlation =
      sum / (static_cast<double>(count) * (static_cast<double>(count) * static_cast<double>(count) - 1) / 12);
  CHECK(std::abs(correlation) < 0.05);
  CHECK(neighbours < 12);  // expected 2
}
