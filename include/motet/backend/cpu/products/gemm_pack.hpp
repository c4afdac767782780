// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/tensor/dtype.hpp>

namespace motet::cpu {

// A matrix as a product sees it: element (i, j) at data[i * stride + j], or at data[j * stride + i] when
// transposed.
template <class T>
struct gemm_operand {
  const T* data = nullptr;
  isize stride = 0;
  bool transposed = false;
};

}  // namespace motet::cpu

// Copies blocks of the operands into the order in which the kernels read them, widening or rounding on the
// way.
#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/products/gemm_kernel.hpp>
#include <motet/backend/cpu/products/gemm_tiles.hpp>
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/gemm_pack.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
#endif
