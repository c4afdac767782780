// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/rows/norm.hpp>

#include <cassert>

namespace motet::cpu {

// y = x + gate * branch, with one gate for all rows.
template <class X, class B, class G, class Y>
struct gated_sum_kernel {
  static void run(matrix<const X> x, matrix<const B> branch, const G* gate, matrix<Y> y);
};
template <class B, class G, class Dy, class D>
struct gated_sum_backward_kernel {
  using number = arithmetic<B, G, Dy, D>;
  static void run(matrix<const B> branch, const G* gate, matrix<const Dy> dy, matrix<D> d_branch,
                  number* sums);
};

namespace detail {

// Rows of a sample behind its condition, where those of all samples lie with and without conditions.
struct conditioned_rows {
  interval with, without;
  conditioned_rows(const sequences& seq, isize sample)
      : with{seq.begin(sample) + 1, seq.end(sample)},
        without{with.begin - sample - 1, with.end - sample - 1} {
    assert(seq.rows_of(sample) > 0);
  }
};

// A norm with another gain and bias for each sample: 1 + scale and shift, of a row (shift | scale).
template <class T>
struct norm_of_sample {
  T *gain, *bias;
  norm_of_sample(context& ctx, isize width)
      : gain(ctx.scratch.take<T>(width)), bias(ctx.scratch.take<T>(width)) {}
  template <class M>
  void read(matrix<M> modulation, isize sample) const {
    const isize width = modulation.width / 2;
    const M* const from = modulation.row(sample);
    for (isize c = 0; c < width; ++c) {
      bias[c] = static_cast<T>(from[c]);
      gain[c] = 1 + static_cast<T>(from[width + c]);
    }
  }
};

}  // namespace detail

// The first row of each sample of x is its condition, which y lacks; other rows are normed, scaled and
// shifted by what their sample's row of the modulation (shift | scale) says.
template <class X, class M, class Y, class S>
void modulated_norm_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<M> modulation,
                            double epsilon, matrix<Y> y, matrix<S> stats) {
  ctx.note("modulated_norm_forward", 8 * elements_in(y), bytes_in(x) + bytes_in(y) + bytes_in(stats));
  using number = arithmetic<X, M, Y>;
  const scratch_scope scope(ctx);
  const detail::norm_of_sample<number> norm(ctx, x.width);
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const detail::conditioned_rows at(seq, s);
    norm.read(modulation, s);
    kernel_of<norm_kernel, number, S, X, Y>::run(true, part_of(x, at.with), norm.gain, norm.bias,
                                                 static_cast<number>(epsilon), part_of(y, at.without),
                                                 part_of(stats, at.without));
  }
}

// dx = residual + gradient, for conditions the residual alone; the residual may be empty, or dx. What forward
// made is made again where `again` is not empty. Sums over a sample's rows are taken in their order.
template <class X, class M, class S, class Dy, class R, class Dx, class Dm, class Y>
void modulated_norm_backward(context& ctx, const sequences& seq, matrix<X> x, matrix<M> modulation,
                             matrix<S> stats, matrix<Dy> dy, matrix<R> residual, matrix<Dx> dx,
                             matrix<Dm> d_modulation, matrix<Y> again) {
  ctx.note("modulated_norm_backward", 15 * elements_in(dy),
           2 * (bytes_in(x) + bytes_in(dy)) + bytes_in(residual) + bytes_in(dx) + bytes_in(again));
  using number = arithmetic<X, M, Dy, Dx>;
  const scratch_scope scope(ctx);
  const isize width = x.width;
  const detail::norm_of_sample<number> norm(ctx, width);
  const matrix<number> sums{ctx.scratch.take<number>(2 * width), 1, 2 * width, 2 * width};  // shift | scale
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const detail::conditioned_rows at(seq, s);
    const auto from = part_of(x, at.with);
    const auto known = part_of(stats, at.without);
    const auto slopes = part_of(dy, at.without);
    norm.read(modulation, s);
    clear_rows(sums);
    if (again)
      kernel_of<norm_kernel, number, S, X, Y>::again(from, norm.gain, norm.bias, known,
                                                     part_of(again, at.without));
    kernel_of<norm_columns_kernel, number, S, X, Dy>::run(from, known, slopes, sums.data + width, sums.data);
    kernel_of<norm_backward_kernel, number, S, X, Dy, R, Dx>::run(
        true, from, norm.gain, known, slopes, part_of(residual, at.with), part_of(dx, at.with));
    convert_rows(sums, d_modulation.slice(s, 1));
    const matrix<Dx> condition = dx.slice(seq.begin(s), 1);
    if (residual) convert_rows(residual.slice(seq.begin(s), 1), condition);
    else clear_rows(condition);
  }
}

// y = x + gate * branch, where the branch has no rows for conditions; those of y are those of x.
template <class X, class B, class G, class Y>
void gated_add_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<B> branch, matrix<G> gate,
                       matrix<Y> y) {
  ctx.note("gated_add_forward", 2 * elements_in(branch), bytes_in(x) + bytes_in(branch) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const detail::conditioned_rows at(seq, s);
    convert_rows(x.slice(seq.begin(s), 1), y.slice(seq.begin(s), 1));
    kernel_of<gated_sum_kernel, X, B, G, Y>::run(part_of(x, at.with), part_of(branch, at.without),
                                                 gate.row(s), part_of(y, at.with));
  }
}

template <class B, class G, class Dy, class D, class Dg>
void gated_add_backward(context& ctx, const sequences& seq, matrix<B> branch, matrix<G> gate, matrix<Dy> dy,
                        matrix<D> d_branch, matrix<Dg> d_gate) {
  ctx.note("gated_add_backward", 3 * elements_in(branch),
           bytes_in(branch) + bytes_in(dy) + bytes_in(d_branch));
  using kernel = kernel_of<gated_sum_backward_kernel, B, G, Dy, D>;
  using number = typename kernel::number;
  const scratch_scope scope(ctx);
  const isize width = dy.width;
  const matrix<number> sums{ctx.scratch.take<number>(width), 1, width, width};
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const detail::conditioned_rows at(seq, s);
    clear_rows(sums);
    kernel::run(part_of(branch, at.without), gate.row(s), part_of(dy, at.with), part_of(d_branch, at.without),
                sums.data);
    convert_rows(sums, d_gate.slice(s, 1));
  }
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/modulation.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class X, class B, class G, class Y>
void gated_sum_kernel<X, B, G, Y>::run(matrix<const X> x, matrix<const B> branch, const G* gate,
                                       matrix<Y> y) {
  using number = arithmetic<X, B, G, Y>;
  MOTET_SIMD_DISPATCH(, gated_sum<number>(x, branch, gate, y));
}
template <class B, class G, class Dy, class D>
void gated_sum_backward_kernel<B, G, Dy, D>::run(matrix<const B> branch, const G* gate, matrix<const Dy> dy,
                                                 matrix<D> d_branch, number* sums) {
  MOTET_SIMD_DISPATCH(, gated_sum_backward<number>(branch, gate, dy, d_branch, sums));
}

}  // namespace motet::cpu
#endif
