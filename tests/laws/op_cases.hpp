// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/sequences.hpp>

#include "each_kernel.hpp"
#include "grid.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace motet::laws {

// Batches that operations on rows must all handle: none, one row, even, ragged with samples that have no
// rows, more threads than samples; body(threads, sequences) with every set of kernels.
template <class Body>
void each_batch(Body&& body) {
  const std::vector<std::vector<isize>> ragged{
      {0, 3, 3, 4, 11, 11}, {0, 0, 7}, {0, 1, 2, 3, 9, 14, 14, 14, 20, 23}};
  with_each_kernel([&] {
    for (int threads = 1; threads <= 3; ++threads) {
      for (const sequences& even : {sequences{0, 5, nullptr}, sequences{1, 1, nullptr},
                                    sequences{5, 4, nullptr}, sequences{2, 9, nullptr}})
        body(threads, even);
      for (const auto& offsets : ragged)
        body(threads, sequences{static_cast<isize>(offsets.size()) - 1, 1, offsets.data()});
    }
  });
}

// Largest distance between dx and the central difference of loss(), which must look at x, in units of (1 +
// |gradient|).
template <class Loss>
double gradient_error(grid<double>& x, const grid<double>& dx, Loss&& loss) {
  constexpr double step = 1e-5;
  double worst = 0;
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) {
      double& at = x.at(r, c);
      const double here = at;
      at = here + step;
      const double above = loss();
      at = here - step;
      const double below = loss();
      at = here;
      const double want = (above - below) / (2 * step),
                   off = std::abs(dx(r, c) - want) / (1 + std::abs(want));
      worst = off <= worst ? worst : std::isnan(off) ? INFINITY : off;
    }
  return worst;
}

// This is the loss sum(y * weights), with the gradient `weights` on y.
inline double weighted_sum(const grid<double>& y, const grid<double>& weights) {
  double sum = 0;
  for (isize r = 0; r < y.rows; ++r)
    for (isize c = 0; c < y.width; ++c) sum += y(r, c) * weights(r, c);
  return sum;
}

}  // namespace motet::laws
