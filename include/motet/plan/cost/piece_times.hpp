// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace motet {

// A product, and the exchange of the rows that it reads or makes, in pieces: while one piece is computed, the
// next is exchanged. This is the stage-time model of overlap in DistTrain's notes: one piece of the exchange
// has nothing to hide behind, the longer of both sets the pace of the others, and one piece of the product is
// left at the end. In one piece they follow each other.
struct piece_times {
  double product = 0, exchange = 0;  // seconds of each, as a whole
  double further = 0;                // that every piece but one adds to the exchange

  constexpr double seconds(int pieces) const {
    const double k = pieces, all = exchange + (k - 1) * further;
    return all / k + (k - 1) * std::max(all, product) / k + product / k;
  }
  // So many times as fast as in one piece.
  constexpr double gain(int pieces) const { return seconds(1) / seconds(pieces); }
  // The fewest that no other number of 1, 2, 4, ... up to `most` is faster than.
  constexpr int best(int most = 8) const {
    int found = 1;
    for (int pieces = 2; pieces <= most; pieces *= 2)
      if (seconds(pieces) < seconds(found)) found = pieces;
    return found;
  }
};

}  // namespace motet
