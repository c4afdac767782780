// SPDX-License-Identifier: Apache-2.0
#pragma once

// This is included before any header of motet: under nvcc it does nothing, else kernels run on an emulated
// GPU. By hand:
//   g++ -std=c++20 -Iinclude -Itests -Itests/laws -isystem /usr/local/cuda/include TEST.cpp
//   tests/doctest_main.cpp tests/support/cuda/*.cpp -pthread

#if !defined(__CUDACC__)

#include "support/cuda/machine.hpp"

#include <motet/backend/cuda/device/launch.hpp>

#include <typeinfo>

namespace motet::cuda {

template <class Kernel>
struct emulator {
  static void launch(cudaStream_t stream, const grid& shape, const Kernel& kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>,
                  "motet: the members of a kernel are copied to the GPU as they are");
    static_assert(sizeof(Kernel) <= 4096, "arguments of a kernel");
    emulation::kernel_call what;
    what.shape = {shape.blocks, shape.threads, shape.shared};
    if constexpr (requires { Kernel::most_threads; }) what.most_threads = Kernel::most_threads;
    what.name = typeid(Kernel).name();
    Kernel sent = kernel;
#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&sent);  // what it holds may look like an address
#endif
    what.kernel = &sent;
    what.bytes = sizeof(Kernel);
    what.run = [](const void* from, emulation::emulated_thread& self) {
      (*static_cast<const Kernel*>(from))(self);
    };
    emulation::launch(stream, what);
    check(cudaGetLastError(), "launch");
  }
};

}  // namespace motet::cuda

#endif
