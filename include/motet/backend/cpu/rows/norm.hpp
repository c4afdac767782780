// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/backend/cpu/rows/elementwise.hpp>
#include <motet/nn/core/operations.hpp>

#include <type_traits>

namespace motet::cpu {

template <class M, class S, class X, class Y>
struct norm_kernel {
  using number = arithmetic<X, M, Y>;
  static void run(bool centred, matrix<const X> x, const M* gain, const M* bias, number epsilon, matrix<Y> y,
                  matrix<S> stats);
  static void again(matrix<const X> x, const M* gain, const M* bias, matrix<const S> stats, matrix<Y> y);
};
template <class M, class S, class X, class Dy, class R, class Dx>
struct norm_backward_kernel {
  static void run(bool centred, matrix<const X> x, const M* gain, matrix<const S> stats, matrix<const Dy> dy,
                  matrix<const R> residual, matrix<Dx> dx);
};
template <class T, class S, class X, class Dy>
struct norm_columns_kernel {
  static void run(matrix<const X> x, matrix<const S> stats, matrix<const Dy> dy, T* gains, T* biases);
};

// Layer norm: y = (x - mean) / deviation * gain + bias. Root-mean-square norm: the same with mean 0.
template <class X, class M, class Y, class S>
void norm_forward(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                  const std::type_identity_t<M>* bias, double epsilon, matrix<Y> y, matrix<S> stats) {
  ctx.note("norm_forward", 8 * elements_in(x), bytes_in(x) + bytes_in(y) + bytes_in(stats));
  if (ctx.measuring()) return;
  using kernel = kernel_of<norm_kernel, M, S, X, Y>;
  const interval own = ctx.own(seq);
  kernel::run(kind == norm_kind::layer, part_of(x, own), gain, bias,
              static_cast<typename kernel::number>(epsilon), part_of(y, own), part_of(stats, own));
}

template <class X, class M, class S, class Y>
void norm_replay(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                 const std::type_identity_t<M>* bias, matrix<S> stats, matrix<Y> y) {
  static_cast<void>(kind);  // the mean of a root-mean-square norm was saved as 0
  ctx.note("norm_replay", 4 * elements_in(x), bytes_in(x) + bytes_in(y) + bytes_in(stats));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<norm_kernel, M, S, X, Y>::again(part_of(x, own), gain, bias, part_of(stats, own),
                                            part_of(y, own));
}

// dx may be the memory of dy or of the residual, which may be empty.
template <class X, class M, class S, class Dy, class R, class Dx>
void norm_backward_input(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                         matrix<S> stats, matrix<Dy> dy, matrix<R> residual, matrix<Dx> dx) {
  ctx.note("norm_backward_input", 11 * elements_in(x),
           bytes_in(x) + bytes_in(dy) + bytes_in(residual) + bytes_in(dx));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<norm_backward_kernel, M, S, X, Dy, R, Dx>::run(kind == norm_kind::layer, part_of(x, own), gain,
                                                           part_of(stats, own), part_of(dy, own),
                                                           part_of(residual, own), part_of(dx, own));
}

template <class X, class S, class Dy, class M>
void norm_backward_weight(context& ctx, norm_kind kind, matrix<X> x, matrix<S> stats, matrix<Dy> dy, M* dgain,
                          std::type_identity_t<M>* dbias) {
  static_cast<void>(kind);
  ctx.note("norm_backward_weight", 4 * elements_in(x), bytes_in(x) + bytes_in(dy));
  using number = arithmetic<X, M, Dy>;
  const scratch_scope scope(ctx);
  number* gains = ctx.scratch.take<number>(x.width);
  number* biases = ctx.scratch.take<number>(x.width);
  if (ctx.measuring()) return;
  const interval own = ctx.own(x.width);
  for (isize c = 0; c < own.size(); ++c) gains[c] = biases[c] = 0;
  kernel_of<norm_columns_kernel, number, S, X, Dy>::run(x.columns(own.begin, own.size()), stats,
                                                        dy.columns(own.begin, own.size()), gains, biases);
  for (isize c = 0; c < own.size(); ++c) {
    dgain[own.begin + c] += static_cast<M>(gains[c]);
    if (dbias) dbias[own.begin + c] += static_cast<M>(biases[c]);
  }
}

// The weight part reads rows and their gradients while they are in the cache.
template <class M>
matrix<M> norm_sums(context&, isize, isize) {
  return {};
}
template <class X, class M, class S, class Dy, class R, class Dx, class V>
void norm_backward_input(context& ctx, const sequences& seq, norm_kind kind, matrix<X> x, const M* gain,
                         matrix<S> stats, matrix<Dy> dy, matrix<R> residual, matrix<Dx> dx,
                         const norm_also<V, M>& also) {
  if (also.normed) norm_replay(ctx, seq, kind, x, gain, also.bias, stats, also.normed);
  norm_backward_input(ctx, seq, kind, x, gain, stats, dy, residual, dx);
  if (also.rounded) copy(ctx, seq, dx, also.rounded);
}
template <class X, class S, class Dy, class M>
void norm_backward_weight(context& ctx, norm_kind kind, matrix<X> x, matrix<S> stats, matrix<Dy> dy,
                          matrix<M>, M* dgain, std::type_identity_t<M>* dbias) {
  norm_backward_weight(ctx, kind, x, stats, dy, dgain, dbias);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/norm.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class M, class S, class X, class Y>
void norm_kernel<M, S, X, Y>::run(bool centred, matrix<const X> x, const M* gain, const M* bias,
                                  number epsilon, matrix<Y> y, matrix<S> stats) {
  MOTET_SIMD_DISPATCH(, norm_rows<number>(centred, x, gain, bias, epsilon, y, stats));
}
template <class M, class S, class X, class Y>
void norm_kernel<M, S, X, Y>::again(matrix<const X> x, const M* gain, const M* bias, matrix<const S> stats,
                                    matrix<Y> y) {
  MOTET_SIMD_DISPATCH(, norm_rows_again<number>(x, gain, bias, stats, y));
}
template <class M, class S, class X, class Dy, class R, class Dx>
void norm_backward_kernel<M, S, X, Dy, R, Dx>::run(bool centred, matrix<const X> x, const M* gain,
                                                   matrix<const S> stats, matrix<const Dy> dy,
                                                   matrix<const R> residual, matrix<Dx> dx) {
  using number = arithmetic<X, M, Dy, Dx>;
  MOTET_SIMD_DISPATCH(, norm_rows_backward<number>(centred, x, gain, stats, dy, residual, dx));
}
template <class T, class S, class X, class Dy>
void norm_columns_kernel<T, S, X, Dy>::run(matrix<const X> x, matrix<const S> stats, matrix<const Dy> dy,
                                           T* gains, T* biases) {
  MOTET_SIMD_DISPATCH(, norm_columns_backward<T>(x, stats, dy, gains, biases));
}

}  // namespace motet::cpu
#endif
