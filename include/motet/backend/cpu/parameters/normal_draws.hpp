// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/normal_draws.hpp>
#include <motet/tensor/view.hpp>

namespace motet::cpu {

// to(r, c) = draws.normal(first + r * width + c) as a float, times scale: the same bits on any processor and
// any number of threads, each of which draws its share and returns without waiting for the others. Floor:
// some 135 instructions for each vector of doubles.
template <class T>
void draw_normals(context& ctx, const random_stream& draws, isize first, isize width, float scale,
                  matrix<T> to) {
  if (ctx.measuring()) return;
  const bool whole = to.width == width && to.stride == width;
  const isize columns = whole ? to.rows * width : to.width;
  if (columns <= 0) return;
  const interval own = ctx.own((whole ? 1 : to.rows) * columns, 1024);
  for (isize at = own.begin; at < own.end;) {
    const isize r = at / columns, c = at % columns,
                count = own.end - at < columns - c ? own.end - at : columns - c;
    normals_kernel<T>::run(draws, static_cast<std::uint64_t>(first + r * width + c), count, scale,
                           to.row(r) + c);
    at += count;
  }
}

}  // namespace motet::cpu
