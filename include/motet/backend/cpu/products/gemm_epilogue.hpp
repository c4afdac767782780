// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/nn/core/operations.hpp>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/vector_math.hpp>
#endif

namespace motet::cpu {

// An epilogue carries the code of an activation, forward or backward; a product without activation compiles
// none.
enum class epilogue_mode : int { linear, forward, backward };

// An epilogue finishes a sum while it is still in the cache. All pieces are optional; in this order:
//   v = sum + bias[j]
//   forward:  pre[i, j] = v;  v = activation(v)
//   backward: v = v * activation'(pre[i, j]);  replayed[i, j] = activation(pre[i, j])
//   out[i, j] = v + residual[i, j] (+ out[i, j] when accumulating)
// `replayed` may be the memory of `pre`, `residual` that of the output.
template <class Sum = float, class Residual = Sum, class Pre = Sum,
          epilogue_mode Mode = epilogue_mode::linear>
struct gemm_epilogue {
  static constexpr epilogue_mode mode = Mode;

  const Sum* bias = nullptr;
  const Residual* residual = nullptr;
  isize residual_stride = 0;
  activation kind = activation::none;
  Pre* pre = nullptr;  // forward: written, or null; backward: read
  isize pre_stride = 0;
  Pre* replayed = nullptr;
  isize replayed_stride = 0;
  bool accumulate = false;

  bool is_linear() const {
    return Mode == epilogue_mode::linear ||
           (Mode == epilogue_mode::forward && kind == activation::none && !pre);
  }
  bool only_stores() const { return is_linear() && !bias && !residual; }
};

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/gemm_epilogue.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
#endif
