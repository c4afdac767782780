// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// The share of its peak at which a device takes the product [rows, inner] x [inner, columns]: `best` for
// large ones, less where a side is short. A side of `half_rows` (of the activations) or `half_columns` (of
// the weights, as cut by tensor parallelism) halves it.
struct efficiency_curve {
  double best = 0.5;
  double half_rows = 0;
  double half_columns = 0;

  constexpr double of(double rows, double columns) const {
    const double by_rows = rows > 0 ? rows / (rows + half_rows) : 1,
                 by_columns = columns > 0 ? columns / (columns + half_columns) : 1;
    return best * by_rows * by_columns;
  }
  friend constexpr bool operator==(const efficiency_curve&, const efficiency_curve&) = default;
};

}  // namespace motet
