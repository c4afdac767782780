// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/products/linear.hpp>
#include <motet/nn/core/routing.hpp>
#include <motet/tensor/share.hpp>

namespace motet::cpu {
namespace detail {

// Calls run(rows, key) for what each key has of this thread's even share of the positions. So threads are
// equally busy whatever the experts are.
template <class Run>
void for_own_positions(const context& ctx, const grouping& by, Run&& run) {
  const interval own = ctx.own(by.each());
  for (isize key = 0; key < by.keys; ++key) {
    const interval rows = intersection(own, {by.starts[key], by.starts[key + 1]});
    if (rows.size() > 0) run(rows, key);
  }
}
// The weights of one key, of a matrix of all of them.
template <class W>
matrix<W> weights_of(matrix<W> weight, isize key, isize rows) {
  return weight.slice(key * rows, rows);
}

}  // namespace detail

// y = x weight^T at each position, with the weights of its key: weight is (keys x out, in).
template <class X, class W, class Y>
void grouped_linear_forward(context& ctx, const grouping& by, matrix<X> x, matrix<W> weight, matrix<Y> y) {
  note_product(ctx, "grouped_linear_forward", x, detail::weights_of(weight, 0, y.width), y);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  detail::for_own_positions(ctx, by, [&](interval rows, isize key) {
    multiply_rows(ctx, rows, x, detail::weights_of(weight, key, y.width), true, y,
                  gemm_epilogue<std::remove_const_t<W>>{}, scratch);
  });
}

// pre = x weight^T; y = activation(that).
template <class X, class W, class P, class Y>
void grouped_linear_forward(context& ctx, const grouping& by, matrix<X> x, matrix<W> weight, activation kind,
                            matrix<P> pre, matrix<Y> y) {
  note_product(ctx, "grouped_linear_forward", x, detail::weights_of(weight, 0, y.width), y);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  detail::for_own_positions(ctx, by, [&](interval rows, isize key) {
    const auto before = part_of(pre, rows);
    multiply_rows(ctx, rows, x, detail::weights_of(weight, key, y.width), true, y,
                  gemm_epilogue<std::remove_const_t<W>, P, P, epilogue_mode::forward>{
                      .kind = kind, .pre = before.data, .pre_stride = before.stride},
                  scratch);
  });
}

// dx = dy weight
template <class Dy, class W, class Dx>
void grouped_linear_backward_input(context& ctx, const grouping& by, matrix<Dy> dy, matrix<W> weight,
                                   matrix<Dx> dx) {
  note_product(ctx, "grouped_linear_backward_input", dy, detail::weights_of(weight, 0, dy.width), dx);
  const scratch_scope scope(ctx);
  std::byte* scratch = ctx.scratch.take<std::byte>(gemm_scratch_bytes);
  if (ctx.measuring()) return;
  detail::for_own_positions(ctx, by, [&](interval rows, isize key) {
    multiply_rows(ctx, rows, dy, detail::weights_of(weight, key, dy.width), false, dx,
                  gemm_epilogue<std::remove_const_t<W>>{}, scratch);
  });
}

// dweight += dy^T x for each key.
template <class X, class Dy, class M>
void grouped_linear_backward_weight(context& ctx, const grouping& by, matrix<X> x, matrix<Dy> dy,
                                    matrix<M> dweight) {
  if (ctx.measuring())
    return linear_backward_weight(ctx, x, dy, detail::weights_of(dweight, 0, dy.width), nullptr);
  for (isize key = 0; key < by.keys; ++key) {
    const interval rows{by.starts[key], by.starts[key + 1]};
    linear_backward_weight(ctx, part_of(x, rows), part_of(dy, rows),
                           detail::weights_of(dweight, key, dy.width), nullptr);
  }
}

// With h the hidden values of an expert and t their gradient before the gate: d_gate = h . t; h and t are
// then multiplied by the gate. So no output of an expert is kept for the gradient of its gate.
template <class Real, class T>
void gate_backward(context& ctx, const grouping& by, matrix<choice<Real>> chosen, matrix<T> h, matrix<T> t,
                   Real* d_gate) {
  ctx.note("gate_backward", 4 * elements_in(h), 2 * bytes_in(h) + 2 * bytes_in(t));
  if (ctx.measuring()) return;
  const interval own = ctx.own(by.each());
  for (isize p = own.begin; p < own.end; ++p) {
    using number = arithmetic<T, Real>;
    d_gate[p] =
        static_cast<Real>(kernel_of<row_product_kernel, number, T, T>::run(h.row(p), t.row(p), h.width));
    const auto gate = static_cast<double>(chosen.data[by.source[p]].gate);
    convert_rows(h.slice(p, 1), h.slice(p, 1), gate);
    convert_rows(t.slice(p, 1), t.slice(p, 1), gate);
  }
}

}  // namespace motet::cpu
