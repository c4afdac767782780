// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/products/gemm_matrix_kernel.hpp>
#include <motet/backend/cuda/products/linear.hpp>
#include <motet/nn/core/routing.hpp>

// Products of the experts. How many positions each one has, only the GPU knows (by.starts lies there), so one
// kernel makes all of them: its blocks find their expert, and those that no position is left for end at once.
// Positions beyond the last expert's are not written.

namespace motet::cuda {
namespace detail {

// out = epilogue(x weight^T), or x weight, of each position with its expert's weights.
template <class X, class W, class Y, class Epilogue>
void multiply_grouped(context& ctx, const grouping& by, matrix<X> x, matrix<W> weight, bool transposed,
                      matrix<Y> y, const Epilogue& epilogue) {
  using x_number = std::remove_const_t<X>;
  using w_number = std::remove_const_t<W>;
  using compute = product_number<X, W, Y>;
  const isize out = transposed ? y.width : x.width;  // rows of weights of one expert
  note_product<compute>(ctx, transposed ? "grouped_linear_forward" : "grouped_linear_backward_input", x,
                        matrix<W>{weight.data, out, weight.width, weight.stride}, y);
  const scratch_scope scope(ctx);
  const auto left = product_source<compute>(ctx, x, x.rows);
  const auto right = weight_source<compute>(ctx, weight, transposed, weight.width);
  if (ctx.measuring() || x.rows == 0 || y.width == 0 || by.keys == 0) return;
  const grouped_rows rows{by.starts, by.keys, x.rows, x.width};
  if constexpr (std::is_same_v<compute, bf16>) {
    const library_operand a = for_library<bf16>(ctx, left), b = for_library<bf16>(ctx, right);
    const gemm_operand<bf16> narrow_a{static_cast<const bf16*>(a.data), a.stride, false},
        narrow_b{static_cast<const bf16*>(b.data), b.stride, transposed};
    if (fits_matrix_tiles(narrow_a, narrow_b, x.rows, y.width, x.width, y.data, y.stride, epilogue)) {
      if (transposed)
        multiply_matrix_tiled<false, true>(ctx.stream(), rows, y.width, narrow_a, narrow_b, out * b.stride,
                                           y.data, y.stride, 0, epilogue);
      else
        multiply_matrix_tiled<false, false>(ctx.stream(), rows, y.width, narrow_a, narrow_b, out * b.stride,
                                            y.data, y.stride, 0, epilogue);
      return;
    }
  }
  multiply_tiled(ctx.stream(), rows, y.width, gemm_operand<x_number>{x.data, x.stride, false},
                 gemm_operand<w_number>{weight.data, weight.stride, transposed}, out * weight.stride, y.data,
                 y.stride, 0, epilogue);
}

}  // namespace detail

// y = x weight^T at each position, with the weights of its key: weight is (keys x out, in).
template <class X, class W, class Y>
void grouped_linear_forward(context& ctx, const grouping& by, matrix<X> x, matrix<W> weight, matrix<Y> y) {
  detail::multiply_grouped(ctx, by, x, weight, true, y, gemm_epilogue<std::remove_const_t<W>>{});
}

// pre = x weight^T; y = activation(that).
template <class X, class W, class P, class Y>
void grouped_linear_forward(context& ctx, const grouping& by, matrix<X> x, matrix<W> weight, activation kind,
                            matrix<P> pre, matrix<Y> y) {
  detail::multiply_grouped(ctx, by, x, weight, true, y,
                           gemm_epilogue<std::remove_const_t<W>, P, P, epilogue_mode::forward>{
                               .kind = kind, .pre = pre.data, .pre_stride = pre.stride});
}

// dx = dy weight
template <class Dy, class W, class Dx>
void grouped_linear_backward_input(context& ctx, const grouping& by, matrix<Dy> dy, matrix<W> weight,
                                   matrix<Dx> dx) {
  detail::multiply_grouped(ctx, by, dy, weight, false, dx, gemm_epilogue<std::remove_const_t<W>>{});
}

// dweight += dy^T x for each key.
template <class X, class Dy, class M>
void grouped_linear_backward_weight(context& ctx, const grouping& by, matrix<X> x, matrix<Dy> dy,
                                    matrix<M> dweight) {
  using x_number = std::remove_const_t<X>;
  using dy_number = std::remove_const_t<Dy>;
  using compute = product_number<X, Dy, M>;
  note_weight_product<compute>(ctx, "grouped_linear_backward_weight", x, dy,
                               matrix<M>{dweight.data, dy.width, dweight.width, dweight.stride});
  const scratch_scope scope(ctx);
  const auto left = product_source<compute>(ctx, dy, x.rows, true);
  const auto right = product_source<compute>(ctx, x, x.rows);
  if (ctx.measuring() || x.rows == 0 || dy.width == 0 || x.width == 0 || by.keys == 0) return;
  const grouped_sums rows{by.starts, by.keys, dy.width};
  const gemm_epilogue<M> add{.accumulate = true};
  const isize step = dy.width * dweight.stride;
  if constexpr (std::is_same_v<compute, bf16>) {
    const library_operand a = for_library<bf16>(ctx, left), b = for_library<bf16>(ctx, right);
    const gemm_operand<bf16> narrow_a{static_cast<const bf16*>(a.data), a.stride, true},
        narrow_b{static_cast<const bf16*>(b.data), b.stride, false};
    if (fits_matrix_tiles(narrow_a, narrow_b, dy.width, x.width, 0, dweight.data, dweight.stride, add))
      return multiply_matrix_tiled<true, false>(ctx.stream(), rows, x.width, narrow_a, narrow_b, 0,
                                                dweight.data, dweight.stride, step, add);
  }
  multiply_tiled(ctx.stream(), rows, x.width, gemm_operand<dy_number>{dy.data, dy.stride, true},
                 gemm_operand<x_number>{x.data, x.stride, false}, 0, dweight.data, dweight.stride, step, add);
}

namespace detail {

// A warp has a position. Floor: h and t are read once and written once.
template <class Real, class T, bool Packed>
struct gate_backward_kernel {
  static constexpr int most_threads = 256;
  static constexpr int each = Packed ? pack<T>::size : 1;
  using number = arithmetic<T, Real>;
  const isize* filled;  // positions that are
  const std::int32_t* source;
  const choice<Real>* chosen;
  T *h, *t;
  isize h_stride, t_stride, rows, width;
  Real* d_gate;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize all = *filled < rows ? *filled : rows;
    for (isize p = self.number() / warp_size; p < all; p += self.all() / warp_size) {
      const auto gate = static_cast<number>(chosen[source[p]].gate);
      number sum = 0;
      for (isize j = static_cast<isize>(self.lane()) * each; j < width; j += warp_size * each) {
        number a[each], b[each];
        load_values<each, Packed>(h + p * h_stride + j, a);
        load_values<each, Packed>(t + p * t_stride + j, b);
        MOTET_UNROLLED
        for (int c = 0; c < each; ++c) sum += a[c] * b[c], a[c] *= gate, b[c] *= gate;
        store_values<each, Packed>(a, h + p * h_stride + j);
        store_values<each, Packed>(b, t + p * t_stride + j);
      }
      sum = warp_sum(self, sum);
      if (self.lane() == 0) d_gate[p] = static_cast<Real>(sum);
    }
  }
};

}  // namespace detail

// With h the hidden values of an expert and t their gradient before the gate: d_gate = h . t; h and t are
// then multiplied by the gate. So no output of an expert is kept for the gradient of its gate.
template <class Real, class T>
void gate_backward(context& ctx, const grouping& by, matrix<choice<Real>> chosen, matrix<T> h, matrix<T> t,
                   Real* d_gate) {
  ctx.note("gate_backward", 4 * elements_in(h), 2 * bytes_in(h) + 2 * bytes_in(t));
  if (ctx.measuring() || h.rows == 0) return;
  const auto run = [&]<bool Packed>() {
    launch(
        ctx.stream(), {blocks_for(h.rows, 8), 256, 0},
        detail::gate_backward_kernel<Real, T, Packed>{by.starts + by.keys, by.source, chosen.data, h.data,
                                                      t.data, h.stride, t.stride, h.rows, h.width, d_gate});
  };
  if (in_packs(h.data, h.width, h.stride) && in_packs(t.data, t.width, t.stride))
    run.template operator()<true>();
  else run.template operator()<false>();
}

}  // namespace motet::cuda
