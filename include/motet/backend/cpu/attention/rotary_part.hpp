// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/rotary.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

namespace motet::cpu {

// The same for the rows that this context part has of all samples: each turns by its position in the whole
// sample.
template <class X>
void rotary_of_part(context& ctx, isize head_width, const rotary_angles& angles, int direction, matrix<X> x) {
  ctx.note("rotary_of_part", 3 * elements_in(x), 2 * bytes_in(x));
  const scratch_scope scope(ctx);
  detail::rotary_turns<X> turns(ctx, head_width, angles, direction);
  if (ctx.measuring()) return;
  const microbatch_spread& is = *ctx.shared;
  const interval own = ctx.own_samples(is.part);
  for (isize s = own.begin; s < own.end; ++s) {
    isize row = is.part.begin(s);
    const row_parts cut = is.cut_of(s);
    for (isize p = 0; p < cut.pieces(); ++p) {
      const interval piece = cut.piece(is.whole.rows_of(s), is.context.member(), p);
      turns.turn(x.slice(row, piece.size()), piece.begin);
      row += piece.size();
    }
  }
}

}  // namespace motet::cpu
