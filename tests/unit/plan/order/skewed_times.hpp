// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/microbatch_order.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>

namespace motet {

// An encoder and a generator whose times are skewed, and stages of 1 between them. DistTrain's notes leave
// open what the two have to do with each other. Of 16 readings (median or mean; drawn alike or apart; four
// means of the generator) this one, drawn alike with a generator of mean 1, was taken because it came closest
// to their table, on other draws than these; drawn apart, filled intervals come out up to 0.02 larger.
inline microbatch_times skewed(std::int32_t stages, std::int32_t count, double mean, double sigma,
                               std::uint64_t seed) {
  const random_stream chance(seed, "times of microbatches");
  microbatch_times made{stages, count, {}, list<double>(stages, 2.0)};
  for (std::int32_t s = 0; s < stages; ++s)
    for (std::int32_t m = 0; m < count; ++m) {
      const double drawn = std::exp(sigma * chance.normal(static_cast<std::uint64_t>(m)) - sigma * sigma / 2);
      made.forward.push(s == 0 ? mean * drawn : s == stages - 1 ? drawn : 1.0);
    }
  return made;
}
inline bool is_permutation_of_all(const microbatch_order& order, std::int32_t count) {
  const microbatch_order all = in_turn(count);
  return order.size() == count && std::is_permutation(order.begin(), order.end(), all.begin());
}

}  // namespace motet
