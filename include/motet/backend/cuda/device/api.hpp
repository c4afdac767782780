// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace motet::cuda {

// Throws what the runtime reports, with what was asked of it.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // What is kept would come back at the next launch, too.
  cudaGetLastError();
  const std::string what =
      std::string(call) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status);
  switch (status) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorInitializationError:
    case cudaErrorSystemDriverMismatch: fail(no_gpu, what);
    case cudaErrorMemoryAllocation: fail(gpu_memory_full, what);
    default: fail(cuda_failed, what);
  }
}

// A query may also answer that what was asked about is not done yet.
inline bool is_done(cudaError_t status, const char* call) {
  if (status != cudaErrorNotReady) return check(status, call), true;
  // An answer, but the runtime keeps it as an error, and the next launch would find it.
  cudaGetLastError();
  return false;
}

// GPUs that this process may use; throws when there is none, or no driver for them.
inline int require_gpus() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count == 0) fail(no_gpu, "no GPU is visible");
  return count;
}

}  // namespace motet::cuda
