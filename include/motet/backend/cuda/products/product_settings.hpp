// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/engine.hpp>
#include <motet/backend/cuda/products/product_cache.hpp>

#include <cstdlib>
#include <string_view>

// Products may go to cuBLASLt, which is linked then. Where nothing is defined, they do if its header is
// there.
#if !defined(MOTET_CUBLASLT)
#if __has_include(<cublasLt.h>)
#define MOTET_CUBLASLT 1
#else
#define MOTET_CUBLASLT 0
#endif
#endif

namespace motet::cuda {

// MOTET_AUTOTUNE=1 asks every program for it.
inline bool asked_to_autotune() {
  const char* const asked = std::getenv("MOTET_AUTOTUNE");
  return asked != nullptr && std::string_view(asked) == "1";
}

// The settings say how products of matrices are taken. They are a part of the engine, to be set before the
// first step.
struct product_settings {
  explicit product_settings(engine&) {}
  bool library = MOTET_CUBLASLT != 0;  // false: own kernels alone
  bool matrix_kernel = true;           // without the library: bf16 by the tensor cores
  // fp32 products with operands rounded to 11 bits, several times as fast
  bool tf32 = false;
  // time the library's best offers for each new shape, once: here, or wherever `cache` was written
  bool autotune = asked_to_autotune();
  // of choices that were timed; empty: they end with the program
  std::filesystem::path cache = product_cache::usual_folder();
  isize workspace = 32 << 20;  // for the library; what it wants on Hopper
};

// Says whether work is recorded now instead of done: then nothing may be allocated, timed or waited for.
inline bool capturing(const engine& on) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(on.stream(), &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace motet::cuda
