// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// to += scale B A: what adapters add to a weight of so many rows and columns, with A (rank, columns) and B
// (rows, rank). Each sum is taken in double and rounded once.
template <class Number>
void add_thin_product(isize rows, isize columns, isize rank, double scale, const Number* b, const Number* a,
                      Number* to) {
  std::vector<double> sums(as_size(columns));
  for (isize row = 0; row < rows; ++row, to += columns) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (isize k = 0; k < rank; ++k) {
      const double by = scale * static_cast<double>(b[row * rank + k]);
      for (isize column = 0; column < columns; ++column)
        sums[as_size(column)] += by * static_cast<double>(a[k * columns + column]);
    }
    for (isize column = 0; column < columns; ++column)
      to[column] = static_cast<Number>(static_cast<double>(to[column]) + sums[as_size(column)]);
  }
}

}  // namespace motet
