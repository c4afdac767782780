// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace motet::laws {

// A step of Muon for one matrix as it is published, in loops over doubles: Nesterov's momentum, five steps of
// Newton and Schulz over the flat side, and a length as AdamW's. g: clipped.
inline void plain_muon(std::vector<double>& w, const std::vector<double>& g, std::vector<double>& m,
                       isize rows, isize width, double rate, double decay, double momentum) {
  const bool tall = rows > width;
  const isize r = tall ? width : rows, c = tall ? rows : width;
  const auto at = [](std::vector<double>& of, isize i, isize j, isize columns) -> double& {
    return of[as_size(i * columns + j)];
  };
  std::vector<double> x(w.size());
  double squares = 0;
  for (isize i = 0; i < rows; ++i)
    for (isize j = 0; j < width; ++j) {
      const auto k = as_size(i * width + j);
      m[k] = momentum * m[k] + (1 - momentum) * g[k];
      const double turn = momentum * m[k] + (1 - momentum) * g[k];
      (tall ? at(x, j, i, c) : at(x, i, j, c)) = turn;
      squares += turn * turn;
    }
  for (double& each : x) each /= std::sqrt(squares) + 1e-12;
  for (int step = 0; step < 5; ++step) {
    std::vector<double> a(as_size(r * r)), b(as_size(r * r)), next(x.size());
    for (isize i = 0; i < r; ++i)
      for (isize j = 0; j < r; ++j)
        for (isize k = 0; k < c; ++k) at(a, i, j, r) += at(x, i, k, c) * at(x, j, k, c);
    for (isize i = 0; i < r; ++i)
      for (isize j = 0; j < r; ++j) {
        at(b, i, j, r) = -4.7750 * at(a, i, j, r);
        for (isize k = 0; k < r; ++k) at(b, i, j, r) += 2.0315 * at(a, i, k, r) * at(a, k, j, r);
      }
    for (isize i = 0; i < r; ++i)
      for (isize j = 0; j < c; ++j) {
        at(next, i, j, c) = 3.4445 * at(x, i, j, c);
        for (isize k = 0; k < r; ++k) at(next, i, j, c) += at(b, i, k, r) * at(x, k, j, c);
      }
    x = next;
  }
  const double far = 0.2 * std::sqrt(static_cast<double>(std::max(rows, width)));
  for (isize i = 0; i < rows; ++i)
    for (isize j = 0; j < width; ++j) {
      double& to = at(w, i, j, width);
      to -= rate * (decay * to + far * (tall ? at(x, j, i, c) : at(x, i, j, c)));
    }
}

}  // namespace motet::laws
