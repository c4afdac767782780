// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/row_kernels.hpp>
#include <motet/nn/operations.hpp>

#include <cassert>

namespace motet::cpu {

// Row s of pixels is a picture (channels, side, side); rows of y are its patches (channels, patch, patch) from left to right, then down, so that a
// convolution with stride = patch becomes a linear layer on them.
template <class P, class Y>
void patches(context& ctx, const sequences& seq, const patch_geometry& geometry, matrix<P> pixels, matrix<Y> y) {
  ctx.note(0, detail::bytes_in(pixels) + detail::bytes_in(y));
  if (ctx.measuring()) return;
  const index side = geometry.side, patch = geometry.patch, across = side / patch;
  const interval own = ctx.own_samples(seq);
  for (index s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    assert(seq.rows_of(s) == geometry.lead + across * across);
    index r = seq.begin(s) + geometry.lead;
    detail::clear_rows(y.slice(seq.begin(s), geometry.lead));
    for (index down = 0; down < across; ++down)
      for (index right = 0; right < across; ++right, ++r)
        for (index channel = 0; channel < geometry.channels; ++channel) {
          const matrix<P> corner{pixels.row(s) + (channel * side + down * patch) * side + right * patch, patch, patch, side};
          detail::convert_rows(corner, matrix<Y>{y.row(r) + channel * patch * patch, patch, patch, patch});
        }
  }
}

}  // namespace motet::cpu
