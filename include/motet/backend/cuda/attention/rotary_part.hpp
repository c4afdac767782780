// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/rotary.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

namespace motet::cuda {

// The same for the rows that this context part has of all samples: each turns by its position in the whole
// sample.
template <class X>
void rotary_of_part(context& ctx, isize head_width, const rotary_angles& angles, int direction, matrix<X> x) {
  ctx.note("rotary_of_part", 3 * elements_in(x), 2 * bytes_in(x));
  if (ctx.measuring()) return;
  const microbatch_spread& is = *ctx.shared;
  detail::turn_heads<true>(ctx, is.part, is.whole, is.cut, is.context.member(), head_width, angles, direction,
                           x);
}

}  // namespace motet::cuda
