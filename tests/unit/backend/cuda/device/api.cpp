// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/api.hpp>
#include <motet/meta/error.hpp>

#include <doctest/doctest.h>

namespace motet {
namespace {

TEST_CASE("what the runtime reports says what was asked, and is not kept") {
  motet::cuda::check(cudaSuccess, "cudaNothing");
  const cudaError_t status = cudaSetDevice(1000);
  CHECK(status == cudaErrorInvalidDevice);
  CHECK_THROWS_WITH(motet::cuda::check(status, "cudaSetDevice"), doctest::Contains("[MT-B10]"));
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_THROWS_WITH(motet::cuda::check(cudaErrorInvalidDevice, "cudaSetDevice"),
                    doctest::Contains("cudaSetDevice: cudaErrorInvalidDevice, invalid device ordinal"));
  CHECK_THROWS_WITH(motet::cuda::check(cudaErrorMemoryAllocation, "cudaMalloc"),
                    doctest::Contains("[MT-B12]"));
  CHECK_THROWS_WITH(motet::cuda::check(cudaErrorInsufficientDriver, "cudaGetDeviceCount"),
                    doctest::Contains("[MT-B11]"));
}

TEST_CASE("what is not ready yet is no error, now or later") {
  cudaStream_t stream = nullptr;
  motet::cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  void* at = nullptr;
  motet::cuda::check(cudaMalloc(&at, 1 << 20), "cudaMalloc");
  bool seen = false;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 20; ++k)
      motet::cuda::check(cudaMemsetAsync(at, 0, 1 << 20, stream), "cudaMemsetAsync");
    for (;;) {
      if (motet::cuda::is_done(cudaStreamQuery(stream), "cudaStreamQuery")) break;
      seen = true;
      CHECK(cudaPeekAtLastError() == cudaSuccess);
    }
  }
  CHECK(seen);
  CHECK_THROWS_WITH(motet::cuda::is_done(cudaErrorInvalidValue, "cudaStreamQuery"),
                    doctest::Contains("[MT-B10]"));
  cudaFree(at);
  cudaStreamDestroy(stream);
}

TEST_CASE("GPUs are counted") {
  CHECK(motet::cuda::require_gpus() >= 1);
#if !defined(__CUDACC__)
  emulation::set_gpus(3);
  CHECK(motet::cuda::require_gpus() == 3);
  emulation::set_gpus(0);
  CHECK_THROWS_WITH(motet::cuda::require_gpus(), doctest::Contains("[MT-B11]"));
  emulation::set_gpus(1);
  emulation::refuse("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  CHECK_THROWS_WITH(motet::cuda::require_gpus(), doctest::Contains("cudaErrorInsufficientDriver"));
  CHECK(cudaGetLastError() == cudaSuccess);
#endif
}

}  // namespace
}  // namespace motet
