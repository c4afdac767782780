// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_matrix_kernel.hpp>
#include <motet/backend/cuda/attention/attention_plain_kernel.hpp>
#include <motet/backend/cuda/exchange/rows_exchange.hpp>
#include <motet/backend/cuda/experts/grouped.hpp>
#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/losses/info_nce.hpp>
#include <motet/backend/cuda/parameters/optimizer.hpp>
#include <motet/backend/cuda/parameters/squares.hpp>
#include <motet/backend/cuda/products/gemm.hpp>
#include <motet/backend/cuda/rows/norm.hpp>
#include <motet/backend/cuda/rows/position.hpp>

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

#define MOTET_EMULATED_SUMS(KEYWORD, WIDTH, VALUE, ROWS) \
  MOTET_EMULATED_KERNEL(KEYWORD, sum_chunks<WIDTH, plain_values<float, VALUE>, ROWS, add_sums<float>>)
#define MOTET_EMULATED_ROWS(KEYWORD)                                                                      \
  MOTET_EMULATED_KERNEL(KEYWORD, norm_rows<float, 4, 4, false, float, float, float, float>)               \
  MOTET_EMULATED_KERNEL(KEYWORD, norm_rows<float, 8, 2, false, float, float, bf16, float>)                \
  MOTET_EMULATED_KERNEL(KEYWORD,                                                                          \
                        norm_rows_backward<float, 4, 2, float, float, float, float, float, float, float>) \
  MOTET_EMULATED_KERNEL(KEYWORD,                                                                          \
                        norm_rows_backward<float, 8, 1, float, float, float, bf16, float, float, bf16>)   \
  MOTET_EMULATED_KERNEL(KEYWORD, sum_of_chunks<float, one_group, add_sums<float>>)                        \
  MOTET_EMULATED_SUMS(KEYWORD, 4, float, every_row)                                                       \
  MOTET_EMULATED_SUMS(KEYWORD, 8, bf16, every_row)                                                        \
  MOTET_EMULATED_SUMS(KEYWORD, 4, float, detail::rows_at_position)                                        \
  MOTET_EMULATED_KERNEL(KEYWORD, part_starts_kernel)

#define MOTET_EMULATED_STEPS(KEYWORD)                               \
  MOTET_EMULATED_KERNEL(KEYWORD, pair_softmax<float, float, true>)  \
  MOTET_EMULATED_KERNEL(KEYWORD, pair_softmax<float, float, false>) \
  MOTET_EMULATED_KERNEL(KEYWORD, info_nce_slopes<float, float>)     \
  MOTET_EMULATED_KERNEL(KEYWORD, complete_softmax<float>)           \
  MOTET_EMULATED_KERNEL(KEYWORD, add_pair_product<float, true>)     \
  MOTET_EMULATED_KERNEL(KEYWORD, add_pair_product<float, false>)    \
  MOTET_EMULATED_KERNEL(KEYWORD, adamw_chunks<float, true>)         \
  MOTET_EMULATED_KERNEL(KEYWORD, squares_of_chunks<float>)

#define MOTET_EMULATED_KERNELS(KEYWORD) \
  namespace motet::cuda {               \
  MOTET_EMULATED_ATTENTION(KEYWORD)     \
  MOTET_EMULATED_PRODUCTS(KEYWORD)      \
  MOTET_EMULATED_ROWS(KEYWORD)          \
  MOTET_EMULATED_STEPS(KEYWORD)         \
  }

#if !defined(MOTET_EMULATED_KERNELS_HERE)
MOTET_EMULATED_KERNELS(extern)
#endif
