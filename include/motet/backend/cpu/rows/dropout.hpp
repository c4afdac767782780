// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/random_blocks.hpp>
#include <motet/backend/cpu/kernels/row_kernels.hpp>

#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/dropout.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

// Keeps each number with probability 1 - rate and scales what it keeps by 1 / (1 - rate). `key` tells the
// places in a net apart. y may be the memory of x; the backward pass is the same call on gradients.
template <class X, class Y>
void dropout_apply(context& ctx, const sequences& seq, double rate, std::uint64_t key, matrix<X> x,
                   matrix<Y> y) {
  ctx.note("dropout_apply", elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  if (!ctx.draws.dropout) rate = 0;
  using number = arithmetic<X, Y>;
  const double words = rate * 0x1p32;
  const std::uint64_t dropped = words <= 0        ? 0
                                : words >= 0x1p32 ? std::uint64_t{1} << 32
                                                  : static_cast<std::uint64_t>(words);
  const random_stream draw(ctx.draws.seed, key ^ (ctx.draws.step + 1) * 0x9e3779b97f4a7c15ull);
  const interval own = ctx.own(seq);
  MOTET_SIMD_DISPATCH(, drop_rows(draw, ctx.draws.first_row + own.begin, dropped,
                                  rate < 1 ? number(1 / (1 - rate)) : number(0), part_of(x, own),
                                  part_of(y, own)));
}

}  // namespace motet::cpu
