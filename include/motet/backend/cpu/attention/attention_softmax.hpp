// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/products/tile_kernels.hpp>

// The softmax of attention on a tile of scores (query rows x keys), one step of it for each tile of keys, and
// its gradient.

namespace motet::cpu {

// Row i of a tile may see its first `first + i * step` columns, at most all.
struct visible_columns {
  isize first = 0;
  isize step = 0;
  constexpr isize of(isize row, isize columns) const {
    const isize count = first + row * step;
    return count < 0 ? 0 : count < columns ? count : columns;
  }
};

}  // namespace motet::cpu

namespace motet::cpu::tiles {

// s becomes 2^(scale s - peak), zero where a row may not see; peak and sum move on; what was summed before
// this tile must be multiplied by fade.
template <class T>
void softmax(isize m, isize n, visible_columns visible, T scale, T* s, isize s_row, T* peak, T* sum, T* fade);

// s becomes p = 2^(scale s - log); ds, which holds the gradient of p, becomes the gradient of the score
// before its scale, p (ds - delta) factor.
template <class T>
void softmax_backward(isize m, isize n, visible_columns visible, T scale, T factor, const T* log,
                      const T* delta, T* s, T* ds, isize s_row);

}  // namespace motet::cpu::tiles

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/attention_softmax.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::tiles {

template <class T>
void softmax(isize m, isize n, visible_columns visible, T scale, T* s, isize s_row, T* peak, T* sum,
             T* fade) {
  MOTET_SIMD_DISPATCH(return, tiles::softmax(m, n, visible, scale, s, s_row, peak, sum, fade));
}
template <class T>
void softmax_backward(isize m, isize n, visible_columns visible, T scale, T factor, const T* log,
                      const T* delta, T* s, T* ds, isize s_row) {
  MOTET_SIMD_DISPATCH(return,
                            tiles::softmax_backward(m, n, visible, scale, factor, log, delta, s, ds, s_row));
}

}  // namespace motet::cpu::tiles
#endif
