// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>
#include <motet/tensor/dtype.hpp>
#include <motet/tensor/view.hpp>

#include <type_traits>

// Neighbours in a row, as a thread moves them: N numbers of a type for arithmetic, whatever type they have in
// memory.

namespace motet::cuda {

template <class T, int N>
struct run {
  T of[N];
};

// Runs are so long that the narrowest of these types moves 16 bytes at a time; wider ones then move several
// times 16.
template <class... X>
inline constexpr int run_size = [] {
  int least = 16;
  ((least = static_cast<int>(sizeof(X)) < least ? static_cast<int>(sizeof(X)) : least), ...);
  return 16 / least;
}();

namespace detail {

template <class X, int Count>
struct alignas(Count* static_cast<int>(sizeof(X))) piece {
  X of[Count];
};

}  // namespace detail

// Elements that one access moves, of runs of N.
template <class X, int N>
inline constexpr int piece_size = N * static_cast<int>(sizeof(X)) > 16 ? 16 / static_cast<int>(sizeof(X)) : N;

template <class Y, class T>
MOTET_HOST_DEVICE Y stored_as(T value) {
  if constexpr (std::is_same_v<Y, T>) {
    return value;
  } else if constexpr (std::is_same_v<Y, bf16>) {
#if defined(__CUDA_ARCH__)
    bf16 made;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(made.bits) : "f"(static_cast<float>(value)));
    return made;
#else
    return bf16(static_cast<float>(value));
#endif
  } else {
    return static_cast<Y>(value);
  }
}

template <class T, int N, class X>
MOTET_HOST_DEVICE run<T, N> load_run(const X* at) {
  constexpr int each = piece_size<X, N>;
  is_loaded(at, N * static_cast<int>(sizeof(X)));
  run<T, N> made;
  MOTET_UNROLLED
  for (int p = 0; p < N / each; ++p) {
    const auto found = reinterpret_cast<const detail::piece<X, each>*>(at)[p];
    MOTET_UNROLLED
    for (int i = 0; i < each; ++i) made.of[p * each + i] = static_cast<T>(found.of[i]);
  }
  return made;
}
template <class Y, class T, int N>
MOTET_HOST_DEVICE void store_run(Y* at, const run<T, N>& values) {
  constexpr int each = piece_size<Y, N>;
  MOTET_UNROLLED
  for (int p = 0; p < N / each; ++p) {
    detail::piece<Y, each> made;
    MOTET_UNROLLED
    for (int i = 0; i < each; ++i) made.of[i] = stored_as<Y>(values.of[p * each + i]);
    store_whole(reinterpret_cast<detail::piece<Y, each>*>(at) + p, made);
  }
}

// Says whether all rows of x may be moved in runs of N. A matrix without memory asks for nothing.
template <int N, class X>
bool in_runs(const matrix<X>& x) {
  constexpr auto bytes = sizeof(X) * as_size(piece_size<std::remove_const_t<X>, N>);
  return x.data == nullptr ||
         (reinterpret_cast<std::uintptr_t>(x.data) % bytes == 0 && x.width % N == 0 && x.stride % N == 0);
}
template <int N, class X>
bool in_runs(const X* data, isize count) {
  return in_runs<N>(matrix<const X>{data, 1, count, count});
}

}  // namespace motet::cuda
