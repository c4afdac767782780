// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/safetensors.hpp>

#include <bit>
#include <concepts>
#include <cstring>

namespace motet {

// IEEE half precision to float; exact.
constexpr float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
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
  for (index i = 0; i < from.elements(); ++i, at += sizeof(Stored))
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

// The same after checking the shape.
template <class To>
void copy_elements(const stored_tensor& from, std::span<const index> wanted, To* to) {
  if (!std::ranges::equal(from.shape, wanted)) {
    fail(tensor_mismatch,
         "\"" + from.name + "\" has the shape " + shape_text(from.shape) + ", wanted " + shape_text(wanted));
  }
  copy_elements(from, to);
}

}  // namespace motet
