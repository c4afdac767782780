// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>

#include <charconv>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// Decoded pixels: rows from the top, red green blue.
struct bitmap {
  static constexpr isize channels = 3;
  isize width = 0;
  isize height = 0;
  std::vector<std::uint8_t> pixels;  // height x width x 3

  bool operator==(const bitmap&) const = default;
};

// A decoder accepts no more than this: a few bytes of a damaged header must not ask for all memory.
struct picture_limits {
  isize side = 16384;
  isize pixels = isize{1} << 26;
};

inline void check_limits(isize width, isize height, const picture_limits& limits) {
  if (width <= 0 || height <= 0 || width > limits.side || height > limits.side ||
      width * height > limits.pixels)
    fail(damaged_picture, sentence({width, " x ", height, " pixels, at most ", limits.side, " a side and ",
                                    limits.pixels, " in all"}));
}

// Binary PPM (P6, 8 bits): needs no library, so every build can make and read pictures.
inline std::string encode_ppm(const bitmap& from) {
  std::string out = sentence({"P6\n", from.width, " ", from.height, "\n255\n"});
  out.append(reinterpret_cast<const char*>(from.pixels.data()), from.pixels.size());
  return out;
}

inline void decode_ppm(std::span<const std::uint8_t> bytes, bitmap& into, const picture_limits& limits = {}) {
  const char* at = reinterpret_cast<const char*>(bytes.data());
  const char* const end = at + bytes.size();
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  if (bytes.size() < 2 || at[0] != 'P' || at[1] != '6') fail(damaged_picture, "no P6 at the start of a PPM");
  at += 2;
  isize numbers[3];
  for (isize& number : numbers) {
    while (at != end && (blank(*at) || *at == '#')) {
      if (*at == '#') {
        while (at != end && *at != '\n') ++at;
      } else {
        ++at;
      }
    }
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc{}) fail(damaged_picture, "the PPM header is cut short or holds no number");
    at = next;
  }
  if (numbers[2] != 255 || at == end || !blank(*at))
    fail(damaged_picture, "only PPM pictures with 255 levels are read");
  ++at;
  check_limits(numbers[0], numbers[1], limits);
  const auto wanted = as_size(numbers[0] * numbers[1] * bitmap::channels);
  if (as_size(end - at) < wanted)
    fail(damaged_picture, sentence({"the PPM holds ", end - at, " bytes of pixels, wanted ", wanted}));
  into.width = numbers[0];
  into.height = numbers[1];
  into.pixels.resize(wanted);
  std::memcpy(into.pixels.data(), at, wanted);
}

}  // namespace motet
