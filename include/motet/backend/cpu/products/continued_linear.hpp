// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/continued_context.hpp>
#include <motet/backend/cpu/kernels/products/tile_kernels.hpp>
#include <motet/backend/cpu/products/linear.hpp>

// Products of the rows of one sample, shared by columns. One row times a matrix is as slow as the matrix is
// long: each thread reads its columns' weights once, from memory into the sums, and packs nothing.
namespace motet::cpu {

// Up to so many rows are multiplied straight from where the weights lie; for more of them packing pays
// (measured with AVX2 and AVX-512: 9 rows take two thirds of the time that they take packed, 16 the same).
inline constexpr isize most_few_rows = 16;

namespace detail {

// wide = the sum of rows, each times its factor
template <class S, class V>
struct weighed_rows_kernel {
  static void run(isize rows, isize width, const S* factors, const V* from, isize from_row, S* wide);
};

// [all] y = epilogue(x weight^T)
template <class T, class X, class W, class Epilogue, class Y>
void multiply_by_columns(continued_context<T>& ctx, matrix<const X> x, matrix<const W> weight,
                         const Epilogue& epilogue, matrix<Y> y);

}  // namespace detail

template <class T, class X, class W, class R, class Y>
void linear_forward(continued_context<T>& ctx, const sequences&, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, matrix<R> residual, matrix<Y> y) {
  using other = std::remove_const_t<R>;
  detail::multiply_by_columns<T, std::remove_const_t<X>, std::remove_const_t<W>>(
      ctx, x, weight,
      gemm_epilogue<std::remove_const_t<W>, other, other>{
          .bias = bias, .residual = residual.data, .residual_stride = residual.stride},
      y);
}

template <class T, class X, class W, class Y>
void linear_forward(continued_context<T>& ctx, const sequences& seq, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, matrix<Y> y) {
  linear_forward(ctx, seq, x, weight, bias, matrix<const Y>{}, y);
}

template <class T, class X, class W, class P, class Y>
void linear_forward(continued_context<T>& ctx, const sequences&, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, activation kind, matrix<P> pre, matrix<Y> y) {
  detail::multiply_by_columns<T, std::remove_const_t<X>, std::remove_const_t<W>>(
      ctx, x, weight,
      gemm_epilogue<std::remove_const_t<W>, P, P, epilogue_mode::forward>{
          .bias = bias, .kind = kind, .pre = pre.data, .pre_stride = pre.stride},
      y);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/few_rows.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class S, class V>
void weighed_rows_kernel<S, V>::run(isize rows, isize width, const S* factors, const V* from, isize from_row,
                                    S* wide) {
  MOTET_SIMD_DISPATCH(, sum_weighed(rows, width, factors, from, from_row, wide));
}

// The epilogue's matrices begin at the first of all columns.
template <class Epilogue>
Epilogue from_column(Epilogue of, isize first) {
  if (of.bias != nullptr) of.bias += first;
  if (of.residual != nullptr) of.residual += first;
  if constexpr (Epilogue::mode == epilogue_mode::forward)
    if (of.pre != nullptr) of.pre += first;
  return of;
}

template <class X, class W, class Epilogue, class S, class Y>
void multiply_few_rows(matrix<X> x, const W* weight, isize weight_row, interval own, const Epilogue& epilogue,
                       S* sums, matrix<Y> y) {
  const isize columns = own.size();
  const W* const first = weight + own.begin * weight_row;
  MOTET_SIMD_DISPATCH(
      , multiply_few<S>(x.rows, columns, x.width, as_operand(x).data, x.stride, first, weight_row, sums));
  MOTET_SIMD_DISPATCH(, finish_rows(epilogue, sums, columns, isize{0}, x.rows, isize{0}, columns,
                                    y.data + own.begin, y.stride));
}

template <class T, class X, class W, class Epilogue, class Y>
void multiply_by_columns(continued_context<T>& ctx, matrix<const X> x, matrix<const W> weight,
                         const Epilogue& epilogue, matrix<Y> y) {
  using sum = arithmetic<X, W>;
  note_product(ctx, "linear_forward", x, weight, y);
  const scratch_scope scope(ctx);
  const bool few = x.rows <= most_few_rows;
  const interval own = ctx.own(y.width);
  sum* const sums = ctx.scratch.template take<sum>(few ? x.rows * own.size() : 0);
  std::byte* const scratch = ctx.scratch.template take<std::byte>(few ? 0 : gemm_scratch_bytes);
  if (ctx.measuring()) return;
  synchronize(ctx);
  const Epilogue here = from_column(epilogue, own.begin);
  if (few) {
    const bf16* rounded = nullptr;
    if constexpr (std::is_same_v<W, float>) rounded = ctx.rounded.at(weight.data);
    if (rounded != nullptr) multiply_few_rows(x, rounded, weight.stride, own, here, sums, y);
    else multiply_few_rows(x, as_operand(weight).data, weight.stride, own, here, sums, y);
  } else {
    gemm<product_number<X, W, Y>>(x.rows, own.size(), x.width, as_operand(x),
                                  as_operand(weight.slice(own.begin, own.size()), true), y.data + own.begin,
                                  y.stride, here, scratch);
  }
  synchronize(ctx);
}

}  // namespace motet::cpu::detail
#endif
