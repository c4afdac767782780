// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdio>

// Tests of a real GPU: where there is none, they are skipped.
int main(int count, char** arguments) {
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status != cudaSuccess || gpus == 0) {
    std::printf("skipped: %s\n", status != cudaSuccess ? cudaGetErrorString(status) : "no GPU is visible");
    return 77;
  }
  // A failure is of this chip, driver and runtime.
  cudaDeviceProp chip;
  int driver = 0, runtime = 0;
  if (cudaGetDeviceProperties(&chip, 0) == cudaSuccess && cudaDriverGetVersion(&driver) == cudaSuccess &&
      cudaRuntimeGetVersion(&runtime) == cudaSuccess)
    std::printf("%d GPUs, the first is %s, sm_%d%d, CUDA %d on a driver for %d\n", gpus, chip.name,
                chip.major, chip.minor, runtime, driver);
  return doctest::Context(count, arguments).run();
}
