// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace motet {

// This comes before the first call of CUDA in this process, so that all kernels are brought to the GPU then,
// and none at its first launch: that would wait until the GPU is idle, which it never is where a kernel of
// another rank, or of NCCL, waits for what this rank launches next. What a user has set stays. One thread of
// a process does it once.
inline void load_kernels_first() {
  static const int asked = ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  static_cast<void>(asked);
}

}  // namespace motet
