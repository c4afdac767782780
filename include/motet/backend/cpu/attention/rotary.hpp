// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

namespace motet::cpu {
namespace detail {

// Turns rows by the angles of their positions, which follow each other.
template <class X>
struct rotary_turns {
  rotary_turns(context& ctx, isize head_width, const rotary_angles& angles, int direction);
  // The first row has this position.
  void turn(matrix<X> rows, isize position);

 private:
  using number = arithmetic<X>;
  isize half_;
  double *angle_, *step_cosine_, *step_sine_, *at_cosine_, *at_sine_;
  number *cosines_, *sines_;
};

}  // namespace detail

// Rotary positions (Su et al., RoFormer) as released Llama weights expect them: element i of a head's first
// half turns with element i of its second half, by the position times the angle of the pair. Gradients are
// turned back with direction -1.
template <class X>
void rotary(context& ctx, const sequences& seq, isize head_width, const rotary_angles& angles, int direction,
            matrix<X> x) {
  ctx.note("rotary", 3 * elements_in(x), 2 * bytes_in(x));
  const scratch_scope scope(ctx);
  detail::rotary_turns<X> turns(ctx, head_width, angles, direction);
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) turns.turn(x.slice(seq.begin(s), seq.rows_of(s)), 0);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/rotary.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class X>
rotary_turns<X>::rotary_turns(context& ctx, isize head_width, const rotary_angles& angles, int direction)
    : half_(head_width / 2),
      angle_(ctx.scratch.take<double>(half_)),
      step_cosine_(ctx.scratch.take<double>(half_)),
      step_sine_(ctx.scratch.take<double>(half_)),
      at_cosine_(ctx.scratch.take<double>(half_)),
      at_sine_(ctx.scratch.take<double>(half_)),
      cosines_(ctx.scratch.take<number>(half_)),
      sines_(ctx.scratch.take<number>(half_)) {
  if (ctx.measuring()) return;
  for (isize i = 0; i < half_; ++i) {
    angle_[i] = direction * angles.of(i, half_);
    step_cosine_[i] = std::cos(angle_[i]);
    step_sine_[i] = std::sin(angle_[i]);
  }
}
template <class X>
void rotary_turns<X>::turn(matrix<X> rows, isize position) {
  for (isize i = 0; i < half_; ++i) {
    const double before = angle_[i] * static_cast<double>(position - 1);
    at_cosine_[i] = position > 1 ? std::cos(before) : 1;
    at_sine_[i] = position > 1 ? std::sin(before) : 0;
  }
  for (isize r = 0; r < rows.rows; ++r) {
    if (position + r == 0) continue;  // stays as it is
    MOTET_SIMD_DISPATCH(
        , next_position(at_cosine_, at_sine_, step_cosine_, step_sine_, half_, cosines_, sines_));
    MOTET_SIMD_DISPATCH(, turn_row(rows.row(r), rows.width, half_, cosines_, sines_));
  }
}

}  // namespace motet::cpu::detail
#endif
