// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/safetensors.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>

namespace motet {

// Makes a float of IEEE half precision, exactly.
constexpr float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

// The nearest half, the even one of two. What is beyond the largest becomes infinite, a NaN stays one.
constexpr std::uint16_t f16_of_float(float value) {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (raw >> 16) & 0x8000u, size = raw & 0x7fffffffu;
  const auto signed_half = [&](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (size > 0x7f800000u) return signed_half(0x7e00u);
  if (size >= 0x47800000u) return signed_half(0x7c00u);
  // Half of what the last bit that is kept is worth, and one more where that bit is set: a carry may reach
  // the exponent, up to infinity.
  const auto rounded = [](std::uint32_t bits, std::uint32_t dropped) {
    return (bits + (1u << (dropped - 1)) - 1 + ((bits >> dropped) & 1u)) >> dropped;
  };
  if (size >= 0x38800000u) return signed_half(rounded(size - (112u << 23), 13));
  // Halves below 2^-14 have one exponent; below a quarter of their last bit all is zero.
  const std::uint32_t exponent = size >> 23;
  if (exponent < 101) return signed_half(0);
  return signed_half(rounded((size & 0x7fffffu) | 0x800000u, 126 - exponent));
}

namespace detail {

template <class From>
From load_element(const std::byte* from) {
  static_assert(std::endian::native == std::endian::little,
                "motet: files are little-endian, and so must be the machine");
  From value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Stored, class To, class Convert>
void convert_elements(const stored_tensor& from, To* to, Convert convert) {
  const std::byte* at = from.bytes.data();
  for (isize i = 0; i < from.elements(); ++i, at += sizeof(Stored))
    to[i] = static_cast<To>(convert(load_element<Stored>(at)));
}

}  // namespace detail

// All elements of a stored tensor. Real types are read from F16, BF16, F32 and F64, integers from the integer
// types; an integer that does not fit and any other type is MT-F10.
template <std::floating_point To>
void copy_elements(const stored_tensor& from, To* to) {
  const auto same = [](auto value) { return value; };
  switch (from.kind) {
    case dtype::f16: return detail::convert_elements<std::uint16_t>(from, to, float_of_f16);
    case dtype::bf16:
      return detail::convert_elements<std::uint16_t>(from, to, [](std::uint16_t bits) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      });
    case dtype::f32:
      if constexpr (std::same_as<To, float>) {
        if (!from.bytes.empty()) std::memcpy(to, from.bytes.data(), from.bytes.size());
        return;
      }
      return detail::convert_elements<float>(from, to, same);
    case dtype::f64: return detail::convert_elements<double>(from, to, same);
    default:
      fail(tensor_mismatch, "\"" + from.name + "\" holds " + std::string(name_of(from.kind)) +
                                ", wanted F16, BF16, F32 or F64");
  }
}
template <std::integral To>
void copy_elements(const stored_tensor& from, To* to) {
  const auto fitting = [&](auto value) {
    if (!std::in_range<To>(value))
      fail(tensor_mismatch, sentence({"\"", from.name, "\" holds ", value, ", which does not fit"}));
    return value;
  };
  switch (from.kind) {
    case dtype::u8: return detail::convert_elements<std::uint8_t>(from, to, fitting);
    case dtype::i8: return detail::convert_elements<std::int8_t>(from, to, fitting);
    case dtype::u16: return detail::convert_elements<std::uint16_t>(from, to, fitting);
    case dtype::i16: return detail::convert_elements<std::int16_t>(from, to, fitting);
    case dtype::u32: return detail::convert_elements<std::uint32_t>(from, to, fitting);
    case dtype::i32: return detail::convert_elements<std::int32_t>(from, to, fitting);
    case dtype::u64: return detail::convert_elements<std::uint64_t>(from, to, fitting);
    case dtype::i64: return detail::convert_elements<std::int64_t>(from, to, fitting);
    default:
      fail(tensor_mismatch,
           "\"" + from.name + "\" holds " + std::string(name_of(from.kind)) + ", wanted integers");
  }
}

// The shape is checked first.
template <class To>
void copy_elements(const stored_tensor& from, std::span<const isize> wanted, To* to) {
  if (!std::ranges::equal(from.shape, wanted)) {
    fail(tensor_mismatch,
         "\"" + from.name + "\" has the shape " + shape_text(from.shape) + ", wanted " + shape_text(wanted));
  }
  copy_elements(from, to);
}

// Floats as bytes of F32, BF16 or F16, rounded to the nearest. A finite one that is infinite there is MT-F16:
// halves end at 65504.
inline std::vector<std::byte> rounded_bytes(dtype kind, std::span<const float> from, std::string_view name) {
  std::vector<std::byte> bytes(from.size() * as_size(dtype_bytes(kind)));
  const auto store = [&](auto convert) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint16_t bits = convert(from[i]);
      std::memcpy(bytes.data() + 2 * i, &bits, sizeof bits);
    }
  };
  const auto refuse_infinite = [&](std::uint16_t infinity) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
      if ((bits & 0x7fffu) == infinity && std::isfinite(from[i]))
        fail(number_too_large, sentence({"\"", name, "\" holds ", from[i], " at ", i, ", and ", name_of(kind),
                                         " has no number of that size"}));
    }
  };
  switch (kind) {
    case dtype::f32:
      if (!bytes.empty()) std::memcpy(bytes.data(), from.data(), bytes.size());
      break;
    case dtype::bf16:
      store([](float value) { return bf16(value).bits; });
      refuse_infinite(0x7f80u);
      break;
    case dtype::f16:
      store(f16_of_float);
      refuse_infinite(0x7c00u);
      break;
    default:
      fail(safetensors_misuse, sentence({"\"", name, "\" was declared as ", name_of(kind),
                                         ", and weights are stored as F32, BF16 or F16"}));
  }
  return bytes;
}

}  // namespace motet
