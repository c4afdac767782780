// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/tensor/random.hpp>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/random_blocks.hpp>
#include <motet/tensor/near_normal.hpp>
#endif

namespace motet::cpu {

// Numbers of a random stream's normals, one after the other, times scale.
template <class T>
struct normals_kernel {
  static void run(const random_stream& draws, std::uint64_t first, isize count, float scale, T* to);
};

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/normal_draws.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class T>
void normals_kernel<T>::run(const random_stream& draws, std::uint64_t first, isize count, float scale,
                            T* to) {
  MOTET_SIMD_DISPATCH(, draw_normals(draws, first, count, scale, to));
}

}  // namespace motet::cpu
#endif
