// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/dtype.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <unistd.h>

namespace motet {

// Bytes in a second that one thread copies, as ranks of one process do.
inline double copy_rate() {
  const isize size = isize{8} << 20;
  buffer<std::byte> from(size), to(size);
  std::memset(from.data(), 1, as_size(size));
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), as_size(size));
    best =
        std::max(best, static_cast<double>(size) /
                           std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// The node may have more or fewer ranks on its processors, which share them and the memory.
constexpr cluster_facts shared_by(cluster_facts machine, std::int32_t ranks) {
  const double each = static_cast<double>(machine.devices_per_node) / ranks, share = std::min(1.0, each);
  machine.device.single_flops *= share;
  machine.device.half_flops *= share;
  machine.device.bytes_per_second *= share;
  machine.inside.bytes_per_second *= share;
  machine.device.memory_bytes *= each;
  machine.devices_per_node = ranks;
  return machine;
}

// The processors on which the operating system may run this process's threads.
inline int processors_here() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// This machine as a cluster of one node, whose ranks are threads: as many as processors, or as told. Rates
// are measured on a device of one thread, such as cpu::device, which takes about 0.2 s; four fifths of the
// memory are for ranks.
template <class Device>
cluster_facts this_machine(std::int32_t ranks = 0) {
  Device one(1);
  const double copied = copy_rate();
  cluster_facts out;
  out.name = "here";
  out.devices_per_node = processors_here();
  out.device.name = "processor core";
  out.device.single_flops = one.template measure_peak<float>();
  out.device.half_flops = out.device.single_flops;  // of a program that was built without bf16
  if constexpr (Device::computes_in_bf16) out.device.half_flops = one.template measure_peak<bf16>();
  out.device.memory_bytes = 0.8 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                            static_cast<double>(::sysconf(_SC_PAGESIZE)) / out.devices_per_node;
  out.device.bytes_per_second = 2 * copied;  // read and written
  out.device.products = {1, 8, 8};           // of what was measured, which is a large product
  out.inside = {5e-6, copied};
  return ranks > 0 ? shared_by(out, ranks) : out;
}

}  // namespace motet
