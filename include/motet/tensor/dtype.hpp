// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// Stored as the upper half of a float; arithmetic happens in float.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  MOTET_HOST_DEVICE constexpr explicit bf16(float value) {
    const auto raw = __builtin_bit_cast(std::uint32_t, value);
    const bool nan = (raw & 0x7fffffffu) > 0x7f800000u;
    // Round to nearest even; a NaN keeps its sign and stays a NaN.
    bits = nan ? static_cast<std::uint16_t>((raw >> 16) | 0x40u)
               : static_cast<std::uint16_t>((raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16);
  }
  MOTET_HOST_DEVICE constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

enum class dtype : std::uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  f8_e4m3,
  f8_e5m2
};

constexpr isize dtype_bytes(dtype kind) {
  switch (kind) {
    case dtype::boolean:
    case dtype::u8:
    case dtype::i8:
    case dtype::f8_e4m3:
    case dtype::f8_e5m2: return 1;
    case dtype::u16:
    case dtype::i16:
    case dtype::f16:
    case dtype::bf16: return 2;
    case dtype::u32:
    case dtype::i32:
    case dtype::f32: return 4;
    case dtype::u64:
    case dtype::i64:
    case dtype::f64: return 8;
  }
  return 0;
}

template <class T>
inline constexpr dtype dtype_of = [] {
  static_assert(sizeof(T) == 0, "motet: this C++ type has no dtype");
  return dtype::u8;
}();
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::i32;
template <>
inline constexpr dtype dtype_of<std::int64_t> = dtype::i64;
template <>
inline constexpr dtype dtype_of<std::uint8_t> = dtype::u8;

// One run computes with these C++ types. Sums are taken in `master` precision or better.
//   value  : operands of matrix products and what is kept for backward
//   stream : the residual stream and its gradient, also between ranks
//   master : weights, gradients of weights, optimizer state, features and what a loss makes of them
template <class Value, class Stream, class Master>
struct numbers {
  using value = Value;
  using stream = Stream;
  using master = Master;
};
using fp32 = numbers<float, float, float>;
using mixed_bf16 = numbers<bf16, float, float>;
using bf16_streams =
    // rows between blocks in bf16 as well: half their memory and traffic, three more bits of noise in what
    // they add up
    numbers<bf16, bf16, float>;
using fp64 = numbers<double, double, double>;  // for finite differences

}  // namespace motet
