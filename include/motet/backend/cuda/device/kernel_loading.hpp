// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/kernel_loading.hpp>
#include <motet/backend/core/warnings.hpp>
#include <motet/backend/cuda/device/api.hpp>

#include <cuda.h>

#include <string_view>

namespace motet::cuda {

// Says whether CUDA brings a kernel to the GPU at its first launch. CUDA has begun by then, and goes by what
// CUDA_MODULE_LOADING was.
inline bool loads_kernels_late() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  check(cudaGetDriverEntryPointByVersion("cuModuleGetLoadingMode", &found, CUDA_VERSION, cudaEnableDefault,
                                         &status),
        "cudaGetDriverEntryPointByVersion");
  CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
  if (status == cudaDriverEntryPointSuccess)
    reinterpret_cast<decltype(&cuModuleGetLoadingMode)>(found)(&mode);
  return mode == CU_MODULE_LAZY_LOADING;
}

// Says so where load_kernels_first() was called too late. A user who chose LAZY is told nothing.
inline void warn_of_late_kernels() {
  const char* const set = std::getenv("CUDA_MODULE_LOADING");
  if (set == nullptr || std::string_view(set) != "EAGER" || !loads_kernels_late()) return;
  warnings::of_process().say(kernels_load_late, "", "CUDA was called before the ranks were made");
}

}  // namespace motet::cuda
