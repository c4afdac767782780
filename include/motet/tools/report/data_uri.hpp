// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/png.hpp>

#include <string>
#include <string_view>

namespace motet {

inline std::string base64(std::string_view bytes) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? letters[word >> (18 - 6 * k) & 63u] : '=';
  }
  return out;
}

// An uncompressed bitmap of 24 bits, which every browser reads and no library needs to write.
inline std::string encode_bmp(const bitmap& from) {
  const auto width = static_cast<std::uint32_t>(from.width), height = static_cast<std::uint32_t>(from.height);
  const std::uint32_t stride = (width * 3 + 3) / 4 * 4, size = stride * height;
  std::string out;
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255u);
  };
  out += "BM";
  put(54 + size, 4);
  put(0, 4);
  put(54, 4);  // where the pixels start
  put(40, 4);  // bytes of the second header
  put(width, 4);
  put(height, 4);
  put(1, 2);
  put(24, 2);
  put(0, 4);
  put(size, 4);
  put(2835, 4);
  put(2835, 4);
  put(0, 4);
  put(0, 4);
  // Rows from the bottom, blue green red.
  for (std::uint32_t row = height; row-- > 0;) {
    for (std::uint32_t column = 0; column < width; ++column) {
      const std::uint8_t* at = from.pixels.data() + (as_size(row) * width + column) * 3;
      for (int c = 2; c >= 0; --c) out += static_cast<char>(at[c]);
    }
    out.append(stride - width * 3, '\0');
  }
  return out;
}

// A picture inside a page, with no file beside it.
inline std::string data_uri(const bitmap& from) {
  if constexpr (has_png) return "data:image/png;base64," + base64(encode_png(from));
  else return "data:image/bmp;base64," + base64(encode_bmp(from));
}

}  // namespace motet
