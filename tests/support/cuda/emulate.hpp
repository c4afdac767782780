// SPDX-License-Identifier: Apache-2.0
#pragma once

// This is included before any header of motet: under nvcc it does nothing, else kernels run on an emulated
// GPU. By hand:
//   g++ -std=c++20 -Iinclude -Itests -Itests/laws -isystem /usr/local/cuda/include TEST.cpp
//   tests/doctest_main.cpp tests/support/cuda/*.cpp -pthread

#if !defined(__CUDACC__)

#include "support/cuda/machine.hpp"

#include <motet/backend/cuda/device/launch.hpp>

#include <cstdint>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace motet::cuda {

#if !__has_builtin(__builtin_clear_padding)
// Hears of each member of a kernel, as text would be made of it: addresses by "%p", arrays by theirs.
struct member_addresses {
  std::vector<std::uintptr_t> told;

  template <class... Parts>
  static void hear(member_addresses& of, std::string_view form, const Parts&... parts) {
    if (form.find("%p") != form.npos) (of.add(parts), ...);
  }

 private:
  template <class T>
  void add(T* at) {
    told.push_back(reinterpret_cast<std::uintptr_t>(at));
  }
  template <class T, std::size_t N>
  void add(T (*at)[N]) {
    for (auto& each : *at) {
      if constexpr (std::is_class_v<T>) __builtin_dump_struct(&each, hear, *this);
      if constexpr (std::is_array_v<T>) add(&each);
      if constexpr (std::is_pointer_v<T>) add(each);
    }
  }
  template <class T>
  void add(const T&) {}
};
#endif

template <class Kernel>
struct emulator {
  static void run(const void* from, emulation::emulated_thread& self) {
    (*static_cast<const Kernel*>(from))(self);
  }
  static void launch(cudaStream_t stream, const grid& shape, const Kernel& kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>,
                  "motet: the members of a kernel are copied to the GPU as they are");
    static_assert(sizeof(Kernel) <= 4096, "arguments of a kernel");
    emulation::kernel_call what;
    what.shape = {shape.blocks, shape.threads, shape.shared};
    if constexpr (requires { Kernel::most_threads; }) what.most_threads = Kernel::most_threads;
    what.name = typeid(Kernel).name();
    Kernel sent = kernel;
    what.kernel = &sent;
    what.bytes = sizeof(Kernel);
    what.run = run;
    // What lies between members may look like an address.
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&sent);
    emulation::launch(stream, what);
#else
    member_addresses members;
    __builtin_dump_struct(&sent, member_addresses::hear, members);
    emulation::launch(stream, what, &members.told);
#endif
    check(cudaGetLastError(), "launch");
  }
};

}  // namespace motet::cuda

#endif
