// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/context.hpp>
#include <motet/tensor/view.hpp>

// Flat numbers between the GPU's memory and the host's.

namespace motet::cuda {

namespace detail {

inline void move_bytes(context& ctx, const void* from, void* to, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, ctx.stream()), "cudaMemcpyAsync");
}

template <class T>
struct add_flat {
  const T* from;
  T* to;
  index count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (index i = self.number(); i < count; i += self.all()) to[i] += from[i];
  }
};

template <class T>
struct copy_matrix {
  matrix<const T> from;
  matrix<T> to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const index count = from.rows * from.width;
    for (index i = self.number(); i < count; i += self.all()) {
      const index r = i / from.width, c = i % from.width;
      to.data[r * to.stride + c] = from.data[r * from.stride + c];
    }
  }
};

}  // namespace detail

// to = from, both of the GPU.
template <class T>
void copy(context& ctx, const T* from, T* to, index count) {
  if (!ctx.measuring() && from != to) detail::move_bytes(ctx, from, to, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDeviceToDevice);
}
// to += from, both of the GPU.
template <class T>
void accumulate(context& ctx, const T* from, T* to, index count) {
  if (!ctx.measuring()) launch(ctx.stream(), {blocks_for(count, 1024), 256, 0}, detail::add_flat<T>{from, to, count});
}
// The same of matrices, which have gaps.
template <class T>
void copy(context& ctx, const matrix<const T>& from, const matrix<T>& to) {
  if (!ctx.measuring() && from.rows > 0 && from.width > 0)
    launch(ctx.stream(), {blocks_for(from.rows * from.width, 1024), 256, 0}, detail::copy_matrix<T>{from, to});
}
// to += what an operation found.
template <class Real = real>
void add_number(context& ctx, const Real& found, double* to) {
  if (!ctx.measuring() && found.at() != nullptr) launch(ctx.stream(), {1, warp_size, 0}, detail::add_number{to, found.at()});
}
// From the host's memory, which may change afterwards; into it, where it is when this returns.
template <class T>
void upload(context& ctx, const T* from, T* to, index count) {
  if (ctx.measuring()) return;
  detail::move_bytes(ctx, from, to, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice);
  ctx.on->finish();
}
template <class T>
void download(context& ctx, const T* from, T* to, index count) {
  if (ctx.measuring()) return;
  detail::move_bytes(ctx, from, to, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDeviceToHost);
  ctx.on->finish();
}
// All that was begun is done.
inline void finish(context& ctx) {
  if (ctx.on != nullptr) ctx.on->finish();
}

}  // namespace motet::cuda
