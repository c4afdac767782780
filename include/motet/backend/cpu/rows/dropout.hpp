// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/tensor/random.hpp>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/random_blocks.hpp>
#endif

namespace motet::cpu {

// Numbers that draw less than `dropped` become zero.
template <class X, class Y>
struct dropout_kernel {
  using number = arithmetic<X, Y>;
  static void run(const random_stream& draw, isize first_row, std::uint64_t dropped, number scale,
                  matrix<const X> x, matrix<Y> y);
};

// Keeps each number with probability 1 - rate and scales what it keeps by 1 / (1 - rate). `key` tells the
// places in a net apart. y may be the memory of x; the backward pass is the same call on gradients.
template <class X, class Y>
void dropout_apply(context& ctx, const sequences& seq, double rate, std::uint64_t key, matrix<X> x,
                   matrix<Y> y) {
  ctx.note("dropout_apply", elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  if (!ctx.draws.dropout) rate = 0;
  using kernel = kernel_of<dropout_kernel, X, Y>;
  using number = typename kernel::number;
  const double words = rate * 0x1p32;
  const std::uint64_t dropped = words <= 0        ? 0
                                : words >= 0x1p32 ? std::uint64_t{1} << 32
                                                  : static_cast<std::uint64_t>(words);
  const random_stream draw(ctx.draws.seed, key ^ (ctx.draws.step + 1) * 0x9e3779b97f4a7c15ull);
  const interval own = ctx.own(seq);
  kernel::run(draw, ctx.draws.first_row + own.begin, dropped, rate < 1 ? number(1 / (1 - rate)) : number(0),
              part_of(x, own), part_of(y, own));
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/dropout.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class X, class Y>
void dropout_kernel<X, Y>::run(const random_stream& draw, isize first_row, std::uint64_t dropped,
                               number scale, matrix<const X> x, matrix<Y> y) {
  MOTET_SIMD_DISPATCH(, drop_rows(draw, first_row, dropped, scale, x, y));
}

}  // namespace motet::cpu
#endif
