// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/features.hpp>
#include <motet/backend/cpu/products/gemm_epilogue.hpp>
#include <motet/backend/cpu/products/gemm_pack.hpp>

#include <cstddef>
#include <type_traits>

namespace motet::cpu {

namespace detail {

// Sizes of the blocks, in bytes.
inline constexpr isize gemm_block_bytes = 1280 * 1024;
inline constexpr isize gemm_depth_bytes = 2048;  // most k in one block
inline constexpr isize gemm_sum_rows = 512;      // rows of sums kept aside when k needs several blocks
inline constexpr isize gemm_sum_bytes = 2 << 20;
inline constexpr isize gemm_rows_bytes = 512 * 1024;

// A block of B that stays in the second-level cache, next to the rows of A and C that stream past it.
inline isize gemm_block_budget() {
  const isize budget = features().l2_bytes * 58 / 100;
  return budget < 96 * 1024 ? 96 * 1024 : budget > gemm_block_bytes ? gemm_block_bytes : budget;
}

}  // namespace detail

// A call may write so much to its scratch memory, whatever its sizes. The memory is aligned to 64 bytes.
inline constexpr isize gemm_scratch_bytes =
    detail::gemm_block_bytes + detail::gemm_sum_bytes + detail::gemm_rows_bytes;

// out[m, n] = epilogue(a[m, k] b[k, n]) on the calling thread, without allocation. Compute says how the
// products are taken: float (operands float or bf16), bf16 (operands bf16 or float; rounded to bf16 where the
// processor multiplies bf16, else multiplied in fp32; sums always fp32), or double.
template <class Compute, class A, class B, class Out,
          class Epilogue = gemm_epilogue<std::conditional_t<std::is_same_v<Compute, double>, double, float>>>
void gemm(isize m, isize n, isize k, gemm_operand<A> a, gemm_operand<B> b, Out* out, isize out_stride,
          const Epilogue& epilogue, std::byte* scratch);

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/gemm.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

#if MOTET_INSTRUCTION_SETS > 2
namespace detail {

template <class A, class B, class Out, class Epilogue>
void multiply_with_tiles(isize m, isize n, isize k, const gemm_operand<A>& a, const gemm_operand<B>& b,
                         Out* out, isize out_stride, const Epilogue& epilogue, std::byte* scratch) {
  const tile_registers held;
  avx512_bf16::multiply<bf16_tiles>(m, n, k, a, b, out, out_stride, epilogue, scratch);
}

// The tile registers are tried once, with whole numbers: a wrong guess about a machine must not become a
// wrong model.
inline bool tiles_are_right(std::byte* scratch) {
  static const bool right = [scratch] {
    constexpr isize m = 37, n = 41, k = 70;
    bf16 a[m * k], b[n * k];
    float out[m * n];
    for (isize i = 0; i < m * k; ++i) a[i] = bf16(static_cast<float>(i * 7 % 17 - 8));
    for (isize i = 0; i < n * k; ++i) b[i] = bf16(static_cast<float>(i * 5 % 15 - 7));
    multiply_with_tiles(m, n, k, gemm_operand<bf16>{a, k}, gemm_operand<bf16>{b, k, true}, out, n,
                        gemm_epilogue<float>{}, scratch);
    for (isize i = 0; i < m; ++i) {
      for (isize j = 0; j < n; ++j) {
        float sum = 0;
        for (isize l = 0; l < k; ++l)
          sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[j * k + l]);
        if (out[i * n + j] != sum) return false;
      }
    }
    return true;
  }();
  return right;
}

}  // namespace detail
#endif

template <class Compute, class A, class B, class Out, class Epilogue>
void gemm(isize m, isize n, isize k, gemm_operand<A> a, gemm_operand<B> b, Out* out, isize out_stride,
          const Epilogue& epilogue, std::byte* scratch) {
  static_assert(std::is_same_v<Compute, double> == std::is_same_v<A, double> &&
                    std::is_same_v<A, double> == std::is_same_v<B, double> &&
                    std::is_same_v<Compute, double> == std::is_same_v<Out, double>,
                "motet: a product in double takes and gives double");
  if (m <= 0 || n <= 0) return;
#if MOTET_INSTRUCTION_SETS > 1
  switch (current_kernel()) {
#if MOTET_INSTRUCTION_SETS > 2
    case kernel_kind::amx:
      if constexpr (std::is_same_v<Compute, bf16>) {
        if (detail::tiles_are_right(scratch))
          return detail::multiply_with_tiles(m, n, k, a, b, out, out_stride, epilogue, scratch);
      }
      return avx512::multiply<Compute>(m, n, k, a, b, out, out_stride, epilogue, scratch);
    case kernel_kind::avx512_bf16:
      if constexpr (std::is_same_v<Compute, bf16>)
        return avx512_bf16::multiply<Compute>(m, n, k, a, b, out, out_stride, epilogue, scratch);
      [[fallthrough]];
    case kernel_kind::avx512:
      return avx512::multiply<Compute>(m, n, k, a, b, out, out_stride, epilogue, scratch);
#endif
    case kernel_kind::avx2: return avx2::multiply<Compute>(m, n, k, a, b, out, out_stride, epilogue, scratch);
    default: break;
  }
#endif
  portable::multiply<Compute>(m, n, k, a, b, out, out_stride, epilogue, scratch);
}

}  // namespace motet::cpu
#endif
