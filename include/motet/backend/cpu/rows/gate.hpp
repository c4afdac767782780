// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

#include <cmath>

namespace motet::cpu {

// y = x + tanh(gate) branch.
template <class X, class B, class M, class Y>
void gate_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<B> branch, const M* gate,
                  matrix<Y> y) {
  ctx.note("gate_forward", 2 * elements_in(y), bytes_in(x) + bytes_in(branch) + bytes_in(y));
  if (ctx.measuring()) return;
  using number = arithmetic<X, B, Y>;
  const auto open = static_cast<number>(std::tanh(static_cast<double>(*gate)));
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r)
    for (isize c = 0; c < y.width; ++c)
      y.row(r)[c] =
          static_cast<Y>(static_cast<number>(x.row(r)[c]) + open * static_cast<number>(branch.row(r)[c]));
}

// d_branch = tanh(gate) dy; sums: of each row, what its gradient is for tanh(gate).
template <class B, class M, class Dy, class D, class S>
void gate_backward_input(context& ctx, const sequences& seq, matrix<B> branch, const M* gate, matrix<Dy> dy,
                         matrix<D> d_branch, matrix<S> sums) {
  ctx.note("gate_backward_input", 3 * elements_in(dy), bytes_in(branch) + bytes_in(dy) + bytes_in(d_branch));
  if (ctx.measuring()) return;
  using number = arithmetic<B, Dy, D>;
  const auto open = static_cast<number>(std::tanh(static_cast<double>(*gate)));
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r) {
    number sum = 0;
    for (isize c = 0; c < dy.width; ++c) {
      const auto slope = static_cast<number>(dy.row(r)[c]);
      sum += slope * static_cast<number>(branch.row(r)[c]);
      d_branch.row(r)[c] = static_cast<D>(open * slope);
    }
    sums.row(r)[0] = static_cast<S>(sum);
  }
}
// Adds the gradient of the gate, from the sums of all rows in their order.
template <class M, class S>
void gate_backward_weight(context& ctx, const M* gate, matrix<S> sums, M* d_gate) {
  ctx.note("gate_backward_weight", elements_in(sums), bytes_in(sums));
  if (ctx.measuring() || ctx.thread != 0) return;
  const double open = std::tanh(static_cast<double>(*gate));
  double sum = 0;
  for (isize r = 0; r < sums.rows; ++r) sum += static_cast<double>(sums.row(r)[0]);
  *d_gate += static_cast<M>((1 - open * open) * sum);
}

}  // namespace motet::cpu
