// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/api.hpp>
#include <motet/backend/cuda/device/block.hpp>

#include <functional>

namespace motet::cuda {

// A kernel is spread over blocks of threads (a multiple of 32, at most 1024); each block has so many bytes of
// shared memory.
struct grid {
  isize blocks = 1;
  int threads = 256;
  isize shared = 0;
};

// The shared memory that a block may have on sm_80; on sm_90 it is 227 KiB. A kernel with `shared_bytes`
// keeps to it.
inline constexpr isize most_shared_bytes = isize{163} * 1024;
template <class Kernel>
constexpr bool shared_memory_fits() {
  if constexpr (requires { Kernel::shared_bytes; }) return Kernel::shared_bytes <= most_shared_bytes;
  else return true;
}

#if defined(__CUDACC__)

namespace detail {
template <class Kernel>
constexpr int most_threads() {
  if constexpr (requires { Kernel::most_threads; }) return Kernel::most_threads;
  else return 1024;
}
template <class Kernel>
__global__ void __launch_bounds__(most_threads<Kernel>()) run_kernel(const __grid_constant__ Kernel kernel) {
  gpu_thread self;
  kernel(self);
}
}  // namespace detail

// Runs kernel(thread) on every thread of the grid, in the order of the stream. A kernel that says
// `most_threads` is compiled for so many in a block.
template <class Kernel>
void launch(cudaStream_t stream, const grid& shape, const Kernel& kernel) {
  if (shape.blocks == 0) return;
  static_assert(shared_memory_fits<Kernel>(),
                "motet: a block of this kernel takes more shared memory than sm_80 has");
  // The compiler's own word: the trait of the standard library makes five more types for each kernel, and
  // what nvcc's front end takes for one grows with their number.
  static_assert(__is_trivially_copyable(Kernel),
                "motet: the members of a kernel are copied to the GPU as they are");
  if (shape.shared > 48 * 1024)
    check(cudaFuncSetAttribute(detail::run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared)),
          "cudaFuncSetAttribute");
  detail::run_kernel<Kernel><<<static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.threads),
                               as_size(shape.shared), stream>>>(kernel);
  check(cudaGetLastError(), "launch");
}

#else

// Kernels are compiled by nvcc. Another compiler runs them only where somebody defines this: our tests do, on
// emulated blocks.
template <class Kernel>
struct emulator;
// As well: runs a function, which may touch memory of the emulated GPU, in the order of the stream, where
// nvcc's programs call a library of kernels.
void emulated_call(cudaStream_t stream, std::function<void()> work);

template <class Kernel>
void launch(cudaStream_t stream, const grid& shape, const Kernel& kernel) {
  static_assert(shared_memory_fits<Kernel>(),
                "motet: a block of this kernel takes more shared memory than sm_80 has");
  // NOLINTNEXTLINE(bugprone-sizeof-expression): asks whether the type is complete
  static_assert(sizeof(emulator<Kernel>) > 0, "motet: programs that launch kernels are compiled by nvcc");
  if (shape.blocks > 0) emulator<Kernel>::launch(stream, shape, kernel);
}

#endif

// Blocks for `count` pieces of work where each of `each` is one block's; no more than fill the GPU several
// times, as blocks may loop.
inline isize blocks_for(isize count, isize each, isize most = 132 * 16) {
  const isize blocks = (count + each - 1) / each;
  return blocks < most ? blocks : most;
}

}  // namespace motet::cuda
