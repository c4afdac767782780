// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/backend/cpu/products/gemm.hpp>
#include <motet/nn/core/operations.hpp>

#include <type_traits>

namespace motet::cpu {

template <class T>
gemm_operand<std::remove_const_t<T>> as_operand(matrix<T> x, bool transposed = false) {
  return {x.data, x.stride, transposed};
}

template <class X, class W, class Y>
void note_product(context& ctx, const char* name, matrix<X> x, matrix<W> weight, matrix<Y> y) {
  ctx.note(name, 2 * static_cast<double>(x.rows) * elements_in(weight),
           bytes_in(x) + bytes_in(weight) + bytes_in(y), flops_of::products);
}

// y = epilogue(x weight^T), or x weight, on this thread's rows. The epilogue's matrices start at the thread's
// first row too.
template <class X, class W, class Y, class Epilogue>
void multiply_rows(context& ctx, interval own, matrix<X> x, matrix<W> weight, bool transposed, matrix<Y> y,
                   const Epilogue& epilogue, std::byte* scratch) {
  static_cast<void>(ctx);
  gemm<product_number<X, W, Y>>(own.size(), y.width, x.width, as_operand(part_of(x, own)),
                                as_operand(weight, transposed), y.row(own.begin), y.stride, epilogue,
                                scratch);
}

namespace detail {

// Each thread sums its own columns, so `to` needs no lock.
template <class Dy, class M>
void add_column_sums(context& ctx, matrix<Dy> dy, M* sums, M* to) {
  const interval mine = ctx.own(dy.width);
  for (isize c = 0; c < mine.size(); ++c) sums[c] = 0;
  sum_columns(dy.columns(mine.begin, mine.size()), sums);
  for (isize c = 0; c < mine.size(); ++c) to[mine.begin + c] += sums[c];
}

}  // namespace detail

// y = residual + x weight^T + bias; the residual may be empty, or y itself.
template <class X, class W, class R, class Y>
void linear_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, matrix<R> residual, matrix<Y> y) {
  note_product(ctx, "linear_forward", x, weight, y);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  const auto beside = part_of(residual, own);
  multiply_rows(ctx, own, x, weight, true, y,
                gemm_epilogue<std::remove_const_t<W>, std::remove_const_t<R>, std::remove_const_t<R>>{
                    .bias = bias, .residual = beside.data, .residual_stride = beside.stride},
                scratch);
}

template <class X, class W, class Y>
void linear_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, matrix<Y> y) {
  linear_forward(ctx, seq, x, weight, bias, matrix<const Y>{}, y);
}

// pre = x weight^T + bias, where wanted; y = activation(that).
template <class X, class W, class P, class Y>
void linear_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, activation kind, matrix<P> pre, matrix<Y> y) {
  note_product(ctx, "linear_forward", x, weight, y);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  const auto before = part_of(pre, own);
  multiply_rows(ctx, own, x, weight, true, y,
                gemm_epilogue<std::remove_const_t<W>, P, P, epilogue_mode::forward>{
                    .bias = bias, .kind = kind, .pre = before.data, .pre_stride = before.stride},
                scratch);
}

// dx = residual + dy weight; the residual may be empty, or dx itself.
template <class Dy, class W, class R, class Dx>
void linear_backward_input(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<W> weight,
                           matrix<R> residual, matrix<Dx> dx) {
  note_product(ctx, "linear_backward_input", dy, weight, dx);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  const auto beside = part_of(residual, own);
  multiply_rows(ctx, own, dy, weight, false, dx,
                gemm_epilogue<std::remove_const_t<W>, std::remove_const_t<R>, std::remove_const_t<R>>{
                    .residual = beside.data, .residual_stride = beside.stride},
                scratch);
}

template <class Dy, class W, class Dx>
void linear_backward_input(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<W> weight,
                           matrix<Dx> dx) {
  linear_backward_input(ctx, seq, dy, weight, matrix<const Dx>{}, dx);
}

// dx = (dy weight) * activation'(pre); replayed = activation(pre), where wanted, which may be the memory of
// pre.
template <class Dy, class W, class P, class Q, class Dx>
void linear_backward_input(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<W> weight,
                           activation kind, matrix<P> pre, matrix<Q> replayed, matrix<Dx> dx) {
  static_assert(std::is_same_v<std::remove_const_t<P>, Q>,
                "motet: what is replayed is kept in the type of what was saved");
  note_product(ctx, "linear_backward_input", dy, weight, dx);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  const auto before = part_of(pre, own);
  const auto after = part_of(replayed, own);
  // Backward, the epilogue only reads pre.
  multiply_rows(
      ctx, own, dy, weight, false, dx,
      gemm_epilogue<std::remove_const_t<W>, Q, Q, epilogue_mode::backward>{.kind = kind,
                                                                           .pre = const_cast<Q*>(before.data),
                                                                           .pre_stride = before.stride,
                                                                           .replayed = after.data,
                                                                           .replayed_stride = after.stride},
      scratch);
}

// dweight += dy^T x, dbias += sums of dy. A thread owns columns of dweight; of a narrow one, rows.
template <class X, class Dy, class M>
void linear_backward_weight(context& ctx, matrix<X> x, matrix<Dy> dy, matrix<M> dweight,
                            std::type_identity_t<M>* dbias) {
  note_product(ctx, "linear_backward_weight", x, dweight, dy);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  M* sums = ctx.scratch.take<M>(dbias ? dy.width : 0);
  if (ctx.measuring()) return;
  if (x.rows == 0) return;
  const bool by_columns = x.width >= 48 * ctx.threads || x.width >= dy.width;
  const interval in =
      by_columns ? ctx.own(x.width, x.width >= 96 * ctx.threads ? 48 : 16) : interval{0, x.width};
  const interval out = by_columns ? interval{0, dy.width} : ctx.own(dy.width);
  gemm<product_number<X, Dy, M>>(
      out.size(), in.size(), x.rows, as_operand(dy.columns(out.begin, out.size()), true),
      as_operand(x.columns(in.begin, in.size())), dweight.row(out.begin) + in.begin, dweight.stride,
      gemm_epilogue<M>{.accumulate = true}, scratch);
  if (dbias != nullptr) detail::add_column_sums(ctx, dy, sums, dbias);
}

// dbias += sums of dy, where the weight's gradient is made of other rows than the bias's.
template <class Dy, class M>
void linear_backward_bias(context& ctx, matrix<Dy> dy, M* dbias) {
  if (dbias == nullptr) return;
  ctx.note("linear_backward_bias", elements_in(dy), bytes_in(dy));
  const scratch_scope scope(ctx);
  M* sums = ctx.scratch.take<M>(dy.width);
  if (!ctx.measuring()) detail::add_column_sums(ctx, dy, sums, dbias);
}

}  // namespace motet::cpu
