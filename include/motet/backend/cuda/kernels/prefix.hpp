// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>

// Running sums within a warp and within a block, for whole numbers.

namespace motet::cuda {

// The sum of the values of this lane and those before it.
template <class Thread, class T>
MOTET_HOST_DEVICE T warp_prefix(Thread& self, T value) {
  const int lane = self.lane();
  MOTET_UNROLLED
  for (int by = 1; by < warp_size; by *= 2) {
    const T before = self.shuffle(value, lane >= by ? lane - by : lane);
    if (lane >= by) value += before;
  }
  return value;
}

// The sum of the values of the threads before this one; `total` is that of all. `scratch` is shared memory
// for 32 numbers, free after the next barrier.
template <class Thread, class T>
MOTET_HOST_DEVICE T block_prefix(Thread& self, T value, T& total, T* scratch) {
  const T here = warp_prefix(self, value);
  self.barrier();  // the scratch may still be read from before
  if (self.lane() == warp_size - 1) scratch[self.warp()] = here;
  self.barrier();
  const T of_warps = warp_prefix(self, self.lane() < self.warps() ? scratch[self.lane()] : T(0));
  const T before = self.shuffle(of_warps, self.warp() > 0 ? self.warp() - 1 : 0);
  total = self.shuffle(of_warps, self.warps() - 1);
  return (self.warp() > 0 ? before : T(0)) + here - value;
}

}  // namespace motet::cuda
