// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/engine.hpp>

// Attention may go to cuDNN, which is linked then, where MOTET_HAS_CUDNN says that it is there. Older
// versions lack attention as one operation.
#if defined(MOTET_HAS_CUDNN)
#include <cudnn.h>
#if CUDNN_VERSION >= 91700
#define MOTET_CUDNN_ATTENTION 1
#endif
#endif
#if !defined(MOTET_CUDNN_ATTENTION)
#define MOTET_CUDNN_ATTENTION 0
#endif

namespace motet::cuda {

// The settings say how attention is computed. They are a part of the engine, to be set before the first step.
struct attention_settings {
  explicit attention_settings(engine&) {}
  bool library = MOTET_CUDNN_ATTENTION != 0;  // false: own kernels alone
  // true: the library adds gradients of queries up in a fixed order, which takes time and memory
  bool deterministic = false;
  // bytes that the library may take; a shape that needs more is left to own kernels
  isize workspace = isize(2) << 30;
};

}  // namespace motet::cuda
