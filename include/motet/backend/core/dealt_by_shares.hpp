// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace motet {

// Threads, or anything else that is counted, for those who have these shares, none for who has none: each has
// one at least, and the others go one by one to whom most is lacking.
inline std::vector<int> dealt_by_shares(const std::vector<double>& shares, int count) {
  double all = 0;
  for (const double each : shares) all += each;
  std::vector<int> given;
  given.reserve(shares.size());
  for (const double each : shares) given.push_back(each > 0 ? 1 : 0);
  if (!(all > 0)) return given;
  for (auto left = count - std::count(given.begin(), given.end(), 1); left > 0; --left) {
    const auto lacks = [&](std::size_t l) {
      return shares[l] > 0 ? shares[l] / all * count - given[l] : -count;
    };
    std::size_t most = 0;
    for (std::size_t l = 1; l < shares.size(); ++l)
      if (lacks(l) > lacks(most)) most = l;
    ++given[most];
  }
  return given;
}

}  // namespace motet
