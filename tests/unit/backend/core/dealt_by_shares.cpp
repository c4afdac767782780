// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/dealt_by_shares.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace motet;

TEST_CASE("who has a share has one at least, and the rest follows the shares") {
  CHECK(dealt_by_shares({.75, .25}, 4) == std::vector<int>{3, 1});
  CHECK(dealt_by_shares({.9, .1}, 2) == std::vector<int>{1, 1});
  CHECK(dealt_by_shares({0, 1, 3}, 8) == std::vector<int>{0, 2, 6});
  CHECK(dealt_by_shares({1, 1, 1}, 2) == std::vector<int>{1, 1, 1});
  CHECK(dealt_by_shares({}, 4).empty());
  CHECK(dealt_by_shares({0, 0}, 4) == std::vector<int>{0, 0});
}

TEST_CASE("drawn shares: all is dealt, and nobody is off by more than one but for the first of each") {
  std::mt19937 random(3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<double> shares(1 + random() % 4);
    for (double& each : shares) each = 1 + static_cast<double>(random() % 9);
    const auto size = static_cast<int>(shares.size());
    const int count = size + static_cast<int>(random() % 20);
    const std::vector<int> given = dealt_by_shares(shares, count);
    CHECK(std::accumulate(given.begin(), given.end(), 0) == count);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t l = 0; l < shares.size(); ++l) {
      CHECK(given[l] >= 1);
      CHECK(given[l] < shares[l] / all * count + 1 + 1e-9);
    }
  }
}
