// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/products/fp8.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cuda {

namespace detail {

// An operand's element is read as it is multiplied: of floats in a product of bf16 there are copies.
template <class Compute, class T>
inline constexpr double bytes_of_operand = std::is_same_v<Compute, bf16> ? bytes_of<bf16> : bytes_of<T>;

// An operand of a product, of its first `rows` rows, with the scratch memory that it might need: in every run
// the same, whoever keeps copies.
template <class Compute, class T>
gemm_source<std::remove_const_t<T>> room_for_source(context& ctx, matrix<T> x, isize rows, bool transposed) {
  gemm_source<std::remove_const_t<T>> made{{x.data, rows, x.width, x.stride}, transposed, nullptr, nullptr};
  if constexpr (std::is_same_v<Compute, bf16> && !std::is_same_v<std::remove_const_t<T>, bf16>)
    made.room = ctx.scratch.take<bf16>(rows * copy_stride(x.width));
  return made;
}

}  // namespace detail

// A product's operands are read once, its result is written once; `beside` is read as well.
template <class Compute, class X, class W, class Y>
void note_product(context& ctx, const char* name, matrix<X> x, matrix<W> weight, matrix<Y> y,
                  double beside = 0) {
  ctx.note(name, 2 * static_cast<double>(x.rows) * elements_in(weight),
           elements_in(x) * detail::bytes_of_operand<Compute, X> +
               elements_in(weight) * detail::bytes_of_operand<Compute, W> + elements_in(y) * bytes_of<Y> +
               beside,
           flops_of::products);
}
// The result is added to the gradient of a weight, which is read as well.
template <class Compute, class X, class Dy, class M>
void note_weight_product(context& ctx, const char* name, matrix<X> x, matrix<Dy> dy, matrix<M> dweight) {
  ctx.note(name, 2 * static_cast<double>(x.rows) * elements_in(dweight),
           elements_in(x) * detail::bytes_of_operand<Compute, X> +
               elements_in(dy) * detail::bytes_of_operand<Compute, Dy> +
               2 * elements_in(dweight) * bytes_of<M>,
           flops_of::products);
}

template <class Compute, class T>
gemm_source<std::remove_const_t<T>> product_source(context& ctx, matrix<T> x, isize rows,
                                                   bool transposed = false) {
  if constexpr (std::is_same_v<Compute, bf16> && !std::is_same_v<std::remove_const_t<T>, bf16>)
    detail::note_cast(ctx, x, rows);
  return detail::room_for_source<Compute>(ctx, x, rows, transposed);
}
// Trainers keep weights in bf16. Where the other operand has more columns, which are zero, a weight gets
// zeros there, too: both then begin each row at 16 bytes, and have whole sixteens of them.
template <class Compute, class T>
gemm_source<std::remove_const_t<T>> weight_source(context& ctx, matrix<T> weight, bool transposed,
                                                  isize columns) {
  auto made = detail::room_for_source<Compute>(ctx, weight, weight.rows, transposed);
  if constexpr (std::is_same_v<Compute, bf16> && !std::is_same_v<std::remove_const_t<T>, bf16>) {
    if (transposed && columns > weight.width)
      detail::note_cast(ctx, weight, weight.rows), made.padded = columns;
    else if (!ctx.measuring()) made.copy = ctx.on->part<weight_copies>().copy_of(weight.data);
  }
  return made;
}

// y = epilogue(x weight^T), or x weight, on the first `rows` rows.
template <class Compute, class X, class W, class Y, class Epilogue>
void multiply_rows(context& ctx, const char* name, isize rows, matrix<X> x, matrix<W> weight, bool transposed,
                   matrix<Y> y, const Epilogue& epilogue) {
  using residual = typename Epilogue::residual_number;
  note_product<Compute>(
      ctx, name, x, weight, y,
      epilogue.residual != nullptr && std::is_same_v<residual, Y> ? elements_in(y) * bytes_of<residual> : 0);
  const scratch_scope scope(ctx);
  const auto left = product_source<Compute>(ctx, x, rows);
  const auto right = weight_source<Compute>(ctx, weight, transposed, x.width);
  const gemm_room room{ctx.scratch.take<std::byte>(gemm_room::bytes(y.width))};
  if constexpr (!std::is_void_v<
                    detail::library_number<Compute, std::remove_const_t<X>, std::remove_const_t<W>>> &&
                !std::is_same_v<Y, double>)
    detail::note_passes<Y>(ctx, rows, y.width, epilogue);
  if constexpr (std::is_same_v<Compute, bf16> && std::is_same_v<std::remove_const_t<W>, float>) {
    const bool narrow =
        x.width == (transposed ? weight.width : weight.rows) && detail::wants_fp8(ctx, x.width, y.width);
    const detail::fp8_room of_x = narrow ? detail::take_fp8_room<X>(ctx, rows, x.width) : detail::fp8_room{};
    if (ctx.measuring()) return;
    if (narrow && detail::fp8_product(ctx, rows, x, matrix<const float>(weight), transposed, y, epilogue,
                                      of_x, room.beside))
      return;
    if (ctx.fp8 && !narrow) detail::no_fp8(ctx, detail::unfit);
  }
  if (ctx.measuring()) return;
  gemm<Compute>(ctx, rows, y.width, transposed ? weight.width : weight.rows, left, right, y.data, y.stride,
                epilogue, room);
}

// logits = x weight^T and the like: in the precision that is asked for.
template <class Compute, class X, class W, class Y>
void multiply(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight, matrix<Y> y) {
  multiply_rows<Compute>(ctx, "multiply", seq.rows(), x, weight, true, y,
                         gemm_epilogue<std::remove_const_t<W>>{});
}

// y = residual + x weight^T + bias; the residual may be empty, or y itself.
template <class X, class W, class R, class Y>
void linear_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<W> weight,
                    const std::remove_const_t<W>* bias, matrix<R> residual, matrix<Y> y) {
  using residual_number = std::remove_const_t<R>;
  multiply_rows<product_number<X, W, Y>>(
      ctx, "linear_forward", seq.rows(), x, weight, true, y,
      gemm_epilogue<std::remove_const_t<W>, residual_number, residual_number>{
          .bias = bias, .residual = residual.data, .residual_stride = residual.stride});
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
  multiply_rows<product_number<X, W, Y>>(
      ctx, "linear_forward", seq.rows(), x, weight, true, y,
      gemm_epilogue<std::remove_const_t<W>, P, P, epilogue_mode::forward>{
          .bias = bias, .kind = kind, .pre = pre.data, .pre_stride = pre.stride});
}

// dx = residual + dy weight; the residual may be empty, or dx itself.
template <class Dy, class W, class R, class Dx>
void linear_backward_input(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<W> weight,
                           matrix<R> residual, matrix<Dx> dx) {
  using residual_number = std::remove_const_t<R>;
  multiply_rows<product_number<Dy, W, Dx>>(
      ctx, "linear_backward_input", seq.rows(), dy, weight, false, dx,
      gemm_epilogue<std::remove_const_t<W>, residual_number, residual_number>{
          .residual = residual.data, .residual_stride = residual.stride});
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
  // Backward, the epilogue only reads pre.
  multiply_rows<product_number<Dy, W, Dx>>(
      ctx, "linear_backward_input", seq.rows(), dy, weight, false, dx,
      gemm_epilogue<std::remove_const_t<W>, Q, Q, epilogue_mode::backward>{
          .kind = kind,
          .pre = const_cast<Q*>(pre.data),
          .pre_stride = pre.stride,
          .replayed = replayed.data,
          .replayed_stride = replayed.stride});
}

// dweight += dy^T x, dbias += sums of dy.
template <class X, class Dy, class M>
void linear_backward_weight(context& ctx, matrix<X> x, matrix<Dy> dy, matrix<M> dweight,
                            std::type_identity_t<M>* dbias) {
  using compute = product_number<X, Dy, M>;
  using x_number = std::remove_const_t<X>;
  using dy_number = std::remove_const_t<Dy>;
  using number = detail::library_number<compute, dy_number, x_number>;
  note_weight_product<compute>(ctx, "linear_backward_weight", x, dy, dweight);
  const scratch_scope scope(ctx);
  const auto left = product_source<compute>(ctx, dy, x.rows, true);
  const auto right = product_source<compute>(ctx, x, x.rows);
  // Of rows that are padded the library makes a gradient as wide as they are; what belongs to the weight is
  // added.
  const bool padded = x.width > dweight.width;
  [[maybe_unused]] float* const whole = padded ? ctx.scratch.take<float>(dweight.rows * x.width) : nullptr;
  // the product's count has the other two
  if (padded) ctx.note("accumulate", 0, 2 * elements_in(dweight) * bytes_of<M>);
  constexpr bool may_be_narrow = std::is_same_v<compute, bf16> && std::is_same_v<M, float>;
  const bool narrow = may_be_narrow && !padded && detail::wants_fp8(ctx, x.width, dy.width);
  const auto of_dy = narrow ? detail::take_fp8_room<Dy>(ctx, x.rows, dy.width) : detail::fp8_room{};
  const auto of_x = narrow ? detail::take_fp8_room<X>(ctx, x.rows, x.width) : detail::fp8_room{};
  // The library's epilogue for these sums is a kernel of its own behind the product, and slower than ours.
  if (dbias != nullptr) {
    ctx.note("linear_backward_bias", 0, bytes_in(dy));
    sum_columns(ctx, dy, dbias);
  }
  if (ctx.measuring() || x.rows == 0 || dy.width == 0) return;
  bool done = false;
  detour why{"cuBLASLt is asked for products of one type, fp32 or bf16, alone"};
  if constexpr (!std::is_void_v<number> && std::is_same_v<M, float>) {
    const auto& how = ctx.on->part<product_settings>();
    why = detail::without_library(x.rows);
    if constexpr (may_be_narrow) {
      done = narrow && detail::fp8_weight_product(ctx, x, dy, dweight, of_x, of_dy);
      if (ctx.fp8 && !narrow) detail::no_fp8(ctx, detail::unfit);
    }
    if (!done && x.width > 0 && how.library) {
      detail::library_product by(ctx, dy.width, x.width, x.rows, for_library<number>(ctx, left),
                                 for_library<number>(ctx, right));
      if (!padded) {
        done = by.added_to(dweight.data, dweight.stride);
      } else if (by.into(whole, x.width, gemm_epilogue<float>{}, nullptr)) {
        map_numbers(ctx, matrix<const M>(dweight),
                    matrix<const M>{whole, dweight.rows, dweight.width, x.width}, dweight, plus{});
        done = true;
      }
      why = by.why().with(product_off_library);
    }
  }
  if (!done && x.width > 0)
    took(ctx, "product",
         detail::multiply_portable<compute>(ctx, dy.width, dweight.width, x.rows, left, right, dweight.data,
                                            dweight.stride, gemm_epilogue<M>{.accumulate = true}),
         why);
}

// dbias += sums of dy, where the weight's gradient is made of other rows than the bias's.
template <class Dy, class M>
void linear_backward_bias(context& ctx, matrix<Dy> dy, M* dbias) {
  if (dbias == nullptr) return;
  ctx.note("linear_backward_bias", elements_in(dy), bytes_in(dy));
  sum_columns(ctx, dy, dbias);
}

}  // namespace motet::cuda
