// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/simd.hpp>

// The innermost loop of the matrix product, once for each instruction set: a tile of C stays in registers
// while k runs.
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/gemm_kernel.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
