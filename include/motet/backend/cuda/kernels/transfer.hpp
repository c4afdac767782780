// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/tensor/view.hpp>

// Flat numbers between the GPU's memory and the host's.

namespace motet::cuda {

namespace detail {

inline void move_bytes(context& ctx, const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, ctx.stream()), "cudaMemcpyAsync");
}

}  // namespace detail

// to = from, both of the GPU.
template <class T>
void copy(context& ctx, const T* from, T* to, isize count) {
  ctx.note("move", 0, 2 * static_cast<double>(count) * static_cast<double>(sizeof(T)));
  if (!ctx.measuring() && from != to)
    detail::move_bytes(ctx, from, to, as_size(count) * sizeof(T), cudaMemcpyDeviceToDevice);
}
// to += from, both of the GPU.
template <class T>
void accumulate(context& ctx, const T* from, T* to, isize count) {
  static_assert(std::is_floating_point_v<T>, "motet: whole numbers are not added as floats");
  if (ctx.measuring()) return;
  for (isize at = 0, here = 0; at < count; at += here) {
    // The rest that is no whole run comes by itself.
    here = count - at < most_runs ? count - at : most_runs;
    if (here > run_size<T>) here -= here % run_size<T>;
    map_numbers(ctx, matrix<const T>{to + at, 1, here, here}, matrix<const T>{from + at, 1, here, here},
                matrix<T>{to + at, 1, here, here}, plus{});
  }
}
// Matrices have gaps, which stay as they are.
template <class T>
void copy(context& ctx, const matrix<const T>& from, const matrix<T>& to) {
  if (ctx.measuring() || from.rows == 0 || from.width == 0) return;
  const auto bytes = [](isize count) { return as_size(count) * sizeof(T); };
  check(cudaMemcpy2DAsync(to.data, bytes(to.stride), from.data, bytes(from.stride), bytes(from.width),
                          as_size(from.rows), cudaMemcpyDeviceToDevice, ctx.stream()),
        "cudaMemcpy2DAsync");
}
// to += what an operation found.
template <class Real = real>
void add_number(context& ctx, const Real& found, double* to) {
  ctx.note("add_number", 1, 3 * static_cast<double>(sizeof(double)));
  if (!ctx.measuring() && found.at() != nullptr)
    launch(ctx.stream(), {1, warp_size, 0}, number_sum{to, found.at()});
}
// The number there as what an operation finds, without waiting for it. It stays the caller's.
inline real real_at(context& ctx, double* from) { return ctx.measuring() ? real{} : real(*ctx.on, from); }
// From the host's memory, which may change afterwards; into it, where it is when this returns.
template <class T>
void upload(context& ctx, const T* from, T* to, isize count) {
  if (ctx.measuring()) return;
  detail::move_bytes(ctx, from, to, as_size(count) * sizeof(T), cudaMemcpyHostToDevice);
  ctx.on->finish();
}
template <class T>
void download(context& ctx, const T* from, T* to, isize count) {
  if (ctx.measuring()) return;
  detail::move_bytes(ctx, from, to, as_size(count) * sizeof(T), cudaMemcpyDeviceToHost);
  ctx.on->finish();
}
// All that was begun is done.
inline void finish(context& ctx) {
  if (ctx.on != nullptr) ctx.on->finish();
}

}  // namespace motet::cuda
