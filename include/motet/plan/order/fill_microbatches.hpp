// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/deal.hpp>

namespace motet {

// Samples take two things that are short in a microbatch: rows of the language model, which are limited, and
// work for their pictures, which is to be even.
struct sample_sizes {
  list<double> rows, pictures;  // of each sample, none negative
};

// Samples share microbatches so: the one with most picture work goes first, each to the microbatch with the
// least picture work that still has room for its rows. A sample that finds room nowhere is left over, for the
// caller to give to a later step. Microbatches may differ in their number of samples.
struct filled_microbatches {
  hands microbatches;
  list<std::int32_t> left_over;
};
// Samples go into so many microbatches of at most so many rows, by the rule above.
// Asks for: both sizes of each sample, none of them negative.
// Memory: a number for each sample.
// Errors: none of its own.
// Example:
//   const filled_microbatches made = fill_microbatches({{100, 80, 60}, {4, 0, 2}}, 2, 160);
inline filled_microbatches fill_microbatches(const sample_sizes& sizes, std::int32_t microbatches,
                                             double most_rows) {
  filled_microbatches made{hands(microbatches), {}};
  list<double> rows(microbatches, 0.0), pictures(microbatches, 0.0);
  // Of samples with equal picture work, as all without pictures are, the longest goes first: it fits worst.
  list<std::int32_t> order(sizes.rows.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(sizes.pictures[a], sizes.rows[a]) > std::pair(sizes.pictures[b], sizes.rows[b]);
  });
  for (const std::int32_t sample : order) {
    std::int32_t best = -1;
    for (std::int32_t m = 0; m < microbatches; ++m) {
      if (rows[m] + sizes.rows[sample] > most_rows) continue;
      if (best < 0 || std::pair(pictures[m], rows[m]) < std::pair(pictures[best], rows[best])) best = m;
    }
    if (best < 0) {
      made.left_over.push(sample);
      continue;
    }
    made.microbatches[best].push(sample);
    rows[best] += sizes.rows[sample];
    pictures[best] += sizes.pictures[sample];
  }
  return made;
}

}  // namespace motet
