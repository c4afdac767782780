// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/tensor/dtype.hpp>

#include <cstring>
#include <type_traits>

// Whoever reads this pays for all instruction sets: a header reads it under MOTET_KERNEL_BODIES alone.
#if !MOTET_KERNEL_BODIES
#error "motet: a kernel's body is read, though motet::compiled has it"
#endif

#if MOTET_X86
#include <immintrin.h>
#endif

#if defined(__CUDACC__)
#define MOTET_UNROLL  // nvcc does not hand the request on; the kernels then are right, but slow
#elif defined(__clang__)
#define MOTET_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define MOTET_UNROLL _Pragma("GCC unroll 32")
#else
#define MOTET_UNROLL
#endif

// Vectors of the compiler (GCC, clang and the host pass of nvcc know them) with loads, stores and fused
// multiply-add, once for each instruction set: namespaces motet::cpu::portable, avx2, avx512 and avx512_bf16.
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/simd.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

// Calls CALL in the namespace of the kernel that was chosen, for example MOTET_SIMD_DISPATCH(return, add(x,
// y)).
#if MOTET_INSTRUCTION_SETS > 2
#define MOTET_SIMD_DISPATCH(KEYWORD, ...)                                                         \
  switch (::motet::cpu::current_kernel()) {                                                       \
    case ::motet::cpu::kernel_kind::amx:                                                          \
    case ::motet::cpu::kernel_kind::avx512_bf16:                                                  \
    case ::motet::cpu::kernel_kind::avx512: KEYWORD ::motet::cpu::avx512::__VA_ARGS__; break;     \
    case ::motet::cpu::kernel_kind::avx2: KEYWORD ::motet::cpu::avx2::__VA_ARGS__; break;         \
    case ::motet::cpu::kernel_kind::portable: KEYWORD ::motet::cpu::portable::__VA_ARGS__; break; \
  }
#elif MOTET_INSTRUCTION_SETS > 1
#define MOTET_SIMD_DISPATCH(KEYWORD, ...)                                                 \
  switch (::motet::cpu::current_kernel()) {                                               \
    case ::motet::cpu::kernel_kind::avx2: KEYWORD ::motet::cpu::avx2::__VA_ARGS__; break; \
    default: KEYWORD ::motet::cpu::portable::__VA_ARGS__; break;                          \
  }
#else
#define MOTET_SIMD_DISPATCH(KEYWORD, ...) KEYWORD ::motet::cpu::portable::__VA_ARGS__
#endif
