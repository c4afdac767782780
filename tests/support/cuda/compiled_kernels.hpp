// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_matrix_kernel.hpp>
#include <motet/backend/cuda/attention/attention_plain_kernel.hpp>
#include <motet/backend/cuda/experts/grouped.hpp>
#include <motet/backend/cuda/products/gemm.hpp>

// The kernels that trainers on emulated GPUs spend most of their time in, compiled once and optimised; what
// includes this is then compiled for less. A kernel that is not listed works as well, only slower.

#define MOTET_EMULATED_KERNEL(KEYWORD, ...) KEYWORD template struct emulator<detail::__VA_ARGS__>;

#define MOTET_EMULATED_PLAIN_ATTENTION(KEYWORD, WIDTH)                  \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_plain<float, WIDTH>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_dq_plain<float, WIDTH>)      \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_dkv_plain<float, WIDTH>)
#define MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, WIDTH)              \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<WIDTH, 1>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_dq_matrix<WIDTH>)         \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_dkv_matrix<WIDTH>)
#define MOTET_EMULATED_ATTENTION(KEYWORD)                         \
  MOTET_EMULATED_PLAIN_ATTENTION(KEYWORD, 64)                     \
  MOTET_EMULATED_PLAIN_ATTENTION(KEYWORD, 128)                    \
  MOTET_EMULATED_PLAIN_ATTENTION(KEYWORD, 256)                    \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 32)                    \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 64)                    \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 80)                    \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 96)                    \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 128)                   \
  MOTET_EMULATED_MATRIX_ATTENTION(KEYWORD, 256)                   \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<32, 2>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<64, 2>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<80, 2>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<96, 2>) \
  MOTET_EMULATED_KERNEL(KEYWORD, attention_forward_matrix<128, 2>)

#define MOTET_EMULATED_PRODUCT(KEYWORD, A, B, OUT, ROUND, MODE, ROWS) \
  MOTET_EMULATED_KERNEL(                                              \
      KEYWORD, multiply_tiles<A, B, OUT, gemm_epilogue<float, ROUND, ROUND, epilogue_mode::MODE>, ROWS>)
#define MOTET_EMULATED_PRODUCTS(KEYWORD)                                                       \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, linear, detail::whole_product)   \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, forward, detail::whole_product)  \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, backward, detail::whole_product) \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, linear, grouped_rows)            \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, forward, grouped_rows)           \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, backward, grouped_rows)          \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, float, float, float, linear, grouped_sums)            \
  MOTET_EMULATED_PRODUCT(KEYWORD, bf16, bf16, float, float, linear, detail::whole_product)     \
  MOTET_EMULATED_PRODUCT(KEYWORD, float, bf16, float, float, linear, detail::whole_product)    \
  MOTET_EMULATED_PRODUCT(KEYWORD, bf16, float, float, float, linear, detail::whole_product)    \
  MOTET_EMULATED_PRODUCT(KEYWORD, bf16, float, bf16, bf16, linear, detail::whole_product)      \
  MOTET_EMULATED_PRODUCT(KEYWORD, bf16, float, bf16, bf16, forward, detail::whole_product)     \
  MOTET_EMULATED_PRODUCT(KEYWORD, bf16, float, bf16, bf16, backward, detail::whole_product)

#define MOTET_EMULATED_KERNELS(KEYWORD) \
  namespace motet::cuda {               \
  MOTET_EMULATED_ATTENTION(KEYWORD)     \
  MOTET_EMULATED_PRODUCTS(KEYWORD)      \
  }

#if !defined(MOTET_EMULATED_KERNELS_HERE)
MOTET_EMULATED_KERNELS(extern)
#endif
