// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/weighted_shares.hpp>

#include <motet/tensor/share.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace motet;
using numbers = list<motet::isize>;

TEST_CASE("equal weights give the even shares, whatever they are and whatever the bounds") {
  for (motet::isize whole = 0; whole < 40; ++whole)
    for (motet::isize owners = 1; owners < 9; ++owners)
      for (const motet::isize weight : {0, 1, 7}) {
        const numbers found = weighted_shares(whole, numbers(owners, weight), {weight, weight});
        for (motet::isize i = 0; i < owners; ++i) CHECK(found[i] == share(whole, owners, i).size());
      }
}

TEST_CASE("shares follow weights, rounded by the largest remainder") {
  CHECK(weighted_shares(12, {3, 2, 1}) == numbers{6, 4, 2});
  CHECK(weighted_shares(10, {3, 2, 1}) == numbers{5, 3, 2});  // 5, 3 1/3, 1 2/3
  CHECK(weighted_shares(7, {1, 1, 2}) == numbers{2, 2, 3});   // 1 3/4, 1 3/4, 3 1/2
  CHECK(weighted_shares(3, {0, 1, 0}) == numbers{0, 3, 0});
  CHECK(weighted_shares(5, {}).empty());
  static_assert(weighted_shares(12, {3, 2, 1})[0] == 6);
}

TEST_CASE("bounds hold where they can, and the others share the rest by their weights") {
  CHECK(weighted_shares(12, {9, 1, 2}, {2, 100}) == numbers{8, 2, 2});
  CHECK(weighted_shares(12, {9, 1, 2}, {1, 6}) == numbers{6, 2, 4});
  CHECK(weighted_shares(12, {9, 1, 1, 1}, {2, 5}) == numbers{5, 3, 2, 2});
  CHECK(weighted_shares(12, {0, 0, 5}, {1, 8}) == numbers{2, 2, 8});  // those without a weight count as equal
  // Too little for all, too much for all: the even share.
  CHECK(weighted_shares(3, {9, 1, 1, 1}, {2, 5}) == numbers{3, 0, 0, 0});
  CHECK(weighted_shares(12, {9, 1, 1}, {0, 2}) == numbers{4, 4, 4});
}

TEST_CASE("random weights and bounds: all is given, within bounds, more weight never has less") {
  std::mt19937 draw(3);
  const auto below = [&](unsigned n) { return static_cast<motet::isize>(draw() % n); };
  for (int turn = 0; turn < 3000; ++turn) {
    const motet::isize owners = 1 + below(7), whole = below(60), least = below(5), most = least + below(20);
    numbers weights;
    for (motet::isize i = 0; i < owners; ++i) weights.push(below(5) == 0 ? 0 : below(1000));
    const numbers found = weighted_shares(whole, weights, {least, most});
    const motet::isize low = std::min(least, whole / owners),
                       high = std::max(most, (whole + owners - 1) / owners);
    motet::isize sum = 0;
    for (motet::isize i = 0; i < owners; ++i) {
      sum += found[i];
      CHECK(found[i] >= low);
      CHECK(found[i] <= high);
      for (motet::isize j = 0; j < owners; ++j)
        if (weights[i] > weights[j]) CHECK(found[i] >= found[j]);
    }
    CHECK(sum == whole);
    // Where no bound is met, every share is within one of its quota.
    motet::isize all = 0;
    for (const motet::isize each : weights) all += each;
    bool free = all > 0;
    for (const motet::isize each : weights)
      free = free && whole * each >= low * all && whole * each <= high * all;
    for (motet::isize i = 0; free && i < owners; ++i)
      CHECK(std::abs(found[i] * all - whole * weights[i]) < all);
  }
}
