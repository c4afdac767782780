// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cpu/device/context.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

namespace motet::cpu {

// Adds fixed 2-D positions to the patches of each sample: the first half of the columns from the patch's row,
// the second from its column; each half is [sin | cos] of position / 10000^(i / (width / 4)), as in MAE (He
// et al., CVPR'22). Rows before the patches stay as they are.
template <class X>
void sine_position_forward(context& ctx, const sequences& seq, const patch_geometry& geometry, matrix<X> x) {
  ctx.note("sine_position_forward", elements_in(x), 2 * bytes_in(x));
  using sum = arithmetic<X>;
  const isize across = geometry.side / geometry.patch, quarter = x.width / 4;
  const scratch_scope scope(ctx);
  sum* const table = ctx.scratch.take<sum>(across * 2 * quarter);  // (positions, sin | cos)
  if (ctx.measuring()) return;
  for (isize position = 0; position < across; ++position)
    for (isize i = 0; i < quarter; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(quarter));
      table[position * 2 * quarter + i] = static_cast<sum>(std::sin(angle));
      table[position * 2 * quarter + quarter + i] = static_cast<sum>(std::cos(angle));
    }
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s)
    for (isize r = seq.begin(s) + geometry.lead; r < seq.end(s); ++r) {
      const isize patch = r - seq.begin(s) - geometry.lead;
      const sum *down = table + patch / across * 2 * quarter, *right = table + patch % across * 2 * quarter;
      X* row = x.row(r);
      for (isize c = 0; c < 2 * quarter; ++c) {
        row[c] = X(static_cast<sum>(row[c]) + down[c]);
        row[c + 2 * quarter] = X(static_cast<sum>(row[c + 2 * quarter]) + right[c]);
      }
    }
}

// Adds fixed positions in time: the first half of the columns sines, the second cosines, of position /
// 10000^(i / (width / 2 - 1)), as Whisper has them (Radford et al., ICML'23).
template <class X>
void time_position_forward(context& ctx, const sequences& seq, matrix<X> x) {
  ctx.note("time_position_forward", elements_in(x), 2 * bytes_in(x));
  using sum = arithmetic<X>;
  const isize half = x.width / 2;
  const scratch_scope scope(ctx);
  float* const speeds = ctx.scratch.take<float>(half);
  sum* const place = ctx.scratch.take<sum>(2 * half);
  if (ctx.measuring()) return;
  for (isize i = 0; i < half; ++i) speeds[i] = time_speed(i, half);
  const interval own = ctx.own_samples(seq);
  isize longest = 0;
  for (isize s = own.begin; s < own.end; ++s) longest = seq.rows_of(s) > longest ? seq.rows_of(s) : longest;
  // Position by position, so that each sine is taken once for all samples of this thread.
  for (isize position = 0; position < longest; ++position) {
    for (isize i = 0; i < half; ++i) {
      const double angle = static_cast<double>(static_cast<float>(position) * speeds[i]);
      place[i] = static_cast<sum>(std::sin(angle));
      place[half + i] = static_cast<sum>(std::cos(angle));
    }
    for (isize s = own.begin; s < own.end; ++s) {
      if (position >= seq.rows_of(s)) continue;
      X* const row = x.row(seq.begin(s) + position);
      for (isize c = 0; c < 2 * half; ++c) row[c] = X(static_cast<sum>(row[c]) + place[c]);
    }
  }
}

}  // namespace motet::cpu
