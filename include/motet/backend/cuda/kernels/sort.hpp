// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <algorithm>
#endif

namespace motet::cuda {

// Pairs of numbers on the GPU, in two arrays.
struct pairs {
  std::uint32_t* keys = nullptr;
  std::uint32_t* values = nullptr;
};

#if !defined(__CUDACC__)
namespace detail {
// This stands for the sort of the CUB library where kernels are emulated.
struct sort_plainly {
  pairs from, to;
  isize count;
  std::uint32_t mask;
  template <class Thread>
  void operator()(Thread& self) const {
    if (self.number() != 0) return;
    for (isize i = 0; i < count; ++i) to.values[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(to.values, to.values + count, [&](std::uint32_t a, std::uint32_t b) {
      return (from.keys[a] & mask) < (from.keys[b] & mask);
    });
    for (isize i = 0; i < count; ++i) {
      const std::uint32_t at = to.values[i];
      to.keys[i] = from.keys[at];
      to.values[i] = from.values[at];
    }
  }
};
}  // namespace detail
#endif

// Sorts `count` pairs by the lowest `bits` bits of their keys; equal keys keep their order. What `from` and
// `other` held is gone: the result is in the one that is returned. Takes scratch; nothing waits for the GPU.
template <class Context>
pairs sort_pairs(Context& ctx, const pairs& from, const pairs& other, isize count, int bits) {
  const scratch_scope scope(ctx);
  // The library asks the GPU how much it needs, which a dry run cannot. Of its sort for such keys we know: 1
  // KB for each tile of at least 256 pairs, and some counters.
  std::size_t room = 4 * as_size(count) + (std::size_t{1} << 17);
  void* const work = ctx.scratch.template take<std::byte>(static_cast<isize>(room));
  if (ctx.measuring() || count == 0 || bits == 0) return from;
#if defined(__CUDACC__)
  cub::DoubleBuffer<std::uint32_t> keys(from.keys, other.keys), values(from.values, other.values);
  std::size_t wanted = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, wanted, keys, values, static_cast<int>(count), 0, bits,
                                        ctx.stream()),
        "cub::DeviceRadixSort");
  if (wanted > room) fail(cuda_failed, sentence({"a sort wants ", wanted, " bytes, has ", room}));
  check(cub::DeviceRadixSort::SortPairs(work, room, keys, values, static_cast<int>(count), 0, bits,
                                        ctx.stream()),
        "cub::DeviceRadixSort");
  return {keys.Current(), values.Current()};
#else
  static_cast<void>(work);
  launch(ctx.stream(), {1, warp_size, 0},
         detail::sort_plainly{from, other, count, bits >= 32 ? 0xffffffffu : (std::uint32_t{1} << bits) - 1});
  return other;
#endif
}

}  // namespace motet::cuda
