// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/jpeg.hpp>
#include <motet/data/pictures/png.hpp>

namespace motet {

// Makes pixels of a picture file, PNG or JPEG, by what its bytes say and not by its name: wrong extensions
// are common.
// Asks for: all bytes of the file, of no more pixels than the limits allow; libspng or libjpeg-turbo.
// Memory: three bytes for each pixel, in a bitmap that is used again.
// Errors: MT-D05, MT-D06
// Example:
//   bitmap pixels_of(std::span<const std::uint8_t> file) {
//     bitmap out;
//     decode_picture(file, out);
//     return out;
//   }
inline void decode_picture(std::span<const std::uint8_t> bytes, bitmap& into,
                           const picture_limits& limits = {}) {
  const auto starts = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (starts("\x89PNG")) return decode_png(bytes, into, limits);
  if (starts("\xff\xd8")) return decode_jpeg(bytes, into, limits);
  if (starts("P6")) return decode_ppm(bytes, into, limits);
  fail(damaged_picture, sentence({"its ", bytes.size(), " bytes begin like neither PNG, JPEG nor PPM"}));
}

inline bool is_picture_field(std::string_view field) {
  return field == "png" || field == "jpg" || field == "jpeg" || field == "ppm";
}
inline bool is_caption_field(std::string_view field) {
  return field == "txt" || field == "text" || field == "caption";
}

// A caption without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank(" \t\r\n\f\v\0", 7);
  const std::size_t first = text.find_first_not_of(blank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace motet
