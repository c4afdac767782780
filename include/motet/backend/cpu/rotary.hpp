// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/row_kernels.hpp>

#include <cmath>

#define MOTET_SIMD_BODY <motet/backend/cpu/rotary_kernels.inc>
#include <motet/backend/cpu/simd_each.inc>

namespace motet::cpu {

// Rotary positions (Su et al., RoFormer) as released Llama weights expect them: element i of a head's first half turns with element i of its second
// half, by position * base^(-2 i / head_width). Gradients are turned back with direction -1.
template <class X>
void rotary(context& ctx, const sequences& seq, index head_width, double base, int direction, matrix<X> x) {
  ctx.note(3 * detail::elements_in(x), 2 * detail::bytes_in(x));
  using number = detail::arithmetic<X>;
  const scratch_scope scope(ctx);
  const index half = head_width / 2;
  double* step_cosine = ctx.scratch.take<double>(half);
  double* step_sine = ctx.scratch.take<double>(half);
  double* at_cosine = ctx.scratch.take<double>(half);
  double* at_sine = ctx.scratch.take<double>(half);
  number* cosines = ctx.scratch.take<number>(half);
  number* sines = ctx.scratch.take<number>(half);
  if (ctx.measuring()) return;
  for (index i = 0; i < half; ++i) {
    const double angle = direction * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(head_width));
    step_cosine[i] = std::cos(angle);
    step_sine[i] = std::sin(angle);
  }
  const interval own = ctx.own_samples(seq);
  for (index s = own.begin; s < own.end; ++s) {
    // Position 0 stays as it is.
    for (index i = 0; i < half; ++i) at_cosine[i] = 1, at_sine[i] = 0;
    for (index r = seq.begin(s) + 1; r < seq.end(s); ++r) {
      MOTET_SIMD_DISPATCH(, next_position(at_cosine, at_sine, step_cosine, step_sine, half, cosines, sines));
      MOTET_SIMD_DISPATCH(, turn_row(x.row(r), x.width, half, cosines, sines));
    }
  }
}

}  // namespace motet::cpu
