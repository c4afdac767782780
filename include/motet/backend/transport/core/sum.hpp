// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>
#include <motet/tensor/sequences.hpp>

#include <cstring>
#include <type_traits>

namespace motet::transports {

// One member takes this part of the sum of `count` numbers. Parts end where cache lines do, so that two
// threads never write to one.
constexpr interval slice_of(isize count, isize element_bytes, isize members, isize member) {
  const isize each = round_up((count + members - 1) / members, 64 / element_bytes);
  const isize begin = member * each < count ? member * each : count;
  return {begin, begin + each < count ? begin + each : count};
}

// Adds numbers [at.begin, at.end) of the parts, in their order, and writes the sum to each of `outs`. An out
// may be a part: a block is written when it was read from all of them.
using sum_function = void (*)(const std::byte* const* parts, isize part_count, std::byte* const* outs,
                              isize out_count, interval at);

namespace detail {

inline constexpr isize sum_block = 4096;

template <class T, class Size>
MOTET_ALWAYS_INLINE void add_block(const std::byte* const* parts, isize part_count, std::byte* const* outs,
                                   isize out_count, isize from, Size size) {
  constexpr bool rounds = std::is_same_v<T, bf16>;
  using accumulator = std::conditional_t<rounds, float, T>;
  accumulator sum[sum_block];
  T rounded[rounds ? sum_block : 1];
  const T* const first = reinterpret_cast<const T*>(parts[0]) + from;
  const T* const second = reinterpret_cast<const T*>(parts[part_count > 1 ? 1 : 0]) + from;
  // Loops of a constant length are made into vector instructions at -O2, too.
  if (part_count == 1)
    for (isize i = 0; i < size; ++i) sum[i] = static_cast<accumulator>(first[i]);
  else
    for (isize i = 0; i < size; ++i)
      sum[i] = static_cast<accumulator>(first[i]) + static_cast<accumulator>(second[i]);
  for (isize p = 2; p < part_count; ++p) {
    const T* const next = reinterpret_cast<const T*>(parts[p]) + from;
    for (isize i = 0; i < size; ++i) sum[i] += static_cast<accumulator>(next[i]);
  }
  const void* result = sum;
  if constexpr (rounds) {
    for (isize i = 0; i < size; ++i) rounded[i] = T(sum[i]);
    result = rounded;
  }
  const isize bytes = size * static_cast<isize>(sizeof(T));
  for (isize o = 0; o < out_count; ++o)
    std::memcpy(outs[o] + from * static_cast<isize>(sizeof(T)), result, as_size(bytes));
}
template <class T>
MOTET_ALWAYS_INLINE void add_parts(const std::byte* const* parts, isize part_count, std::byte* const* outs,
                                   isize out_count, interval at) {
  for (; at.begin + sum_block <= at.end; at.begin += sum_block)
    add_block<T>(parts, part_count, outs, out_count, at.begin, std::integral_constant<isize, sum_block>{});
  if (at.begin < at.end) add_block<T>(parts, part_count, outs, out_count, at.begin, at.end - at.begin);
}

// The same additions in the same order, more of them at a time: no bit differs.
#if defined(__x86_64__) && defined(__GNUC__)
template <class T>
__attribute__((target("avx2"))) void add_parts_wide(const std::byte* const* parts, isize part_count,
                                                    std::byte* const* outs, isize out_count, interval at) {
  add_parts<T>(parts, part_count, outs, out_count, at);
}
inline bool is_wide() { return __builtin_cpu_supports("avx2") != 0; }
#else
template <class T>
void add_parts_wide(const std::byte* const*, isize, std::byte* const*, isize, interval) {}
inline bool is_wide() { return false; }
#endif

}  // namespace detail

template <class T>
void sum_parts(const std::byte* const* parts, isize part_count, std::byte* const* outs, isize out_count,
               interval at) {
  if (detail::is_wide()) detail::add_parts_wide<T>(parts, part_count, outs, out_count, at);
  else detail::add_parts<T>(parts, part_count, outs, out_count, at);
}

}  // namespace motet::transports
