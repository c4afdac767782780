// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/png.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("PNG there and back, or a word about the library") {
  const bitmap made = noise_picture(17, 9, 1);
  bitmap read;
  if (!has_png) {
    CHECK(code_of([&] { encode_png(made); }) == "MT-D06");
    CHECK(code_of([&] { decode_png({}, read); }) == "MT-D06");
    return;
  }
  const std::string bytes = encode_png(made);
  decode_png(bytes_of_text(bytes), read);
  CHECK(read == made);
  CHECK(bytes == encode_png(made));
  // the last 12 bytes say only that the file ends
  for (std::size_t length = 0; length < bytes.size() - 12; ++length) {
    const std::string cut = bytes.substr(0, length);
    CAPTURE(length);
    // Once all pixels are there, checksums behind them may be missing.
    const std::string code = code_of([&] { decode_png(bytes_of_text(cut), read); });
    REQUIRE((code == "MT-D05" || (code.empty() && read == made && length + 24 > bytes.size())));
  }
  CHECK(code_of([&] { decode_png(bytes_of_text(bytes), read, {16, 1000}); }) == "MT-D05");
  CHECK(code_of([&] { decode_png(bytes_of_text(bytes), read, {100, 100}); }) == "MT-D05");
  CHECK(code_of([&] { encode_png(bitmap{}); }) == "MT-D08");
}

TEST_CASE("palettes and grey with transparency become RGB") {
  if (!has_png) return;
  // Pillow wrote these: 2 x 2 with a palette of (10, 20, 30) and (200, 100, 50) in 1 bit; 2 x 1 of grey 7
  // opaque and grey 250 transparent.
  static constexpr std::uint8_t palette[] = {
      137, 80,  78, 71,  13,  10,  26,  10,  0,   0,   0,   13, 73, 72, 68, 82,  0,   0,   0,   2,  0,   0,
      0,   2,   1,  3,   0,   0,   0,   72,  120, 159, 103, 0,  0,  0,  6,  80,  76,  84,  69,  10, 20,  30,
      200, 100, 50, 119, 160, 179, 156, 0,   0,   0,   12,  73, 68, 65, 84, 120, 156, 99,  112, 96, 114, 0,
      0,   1,   8,  0,   131, 24,  134, 139, 206, 0,   0,   0,  0,  73, 69, 78,  68,  174, 66,  96, 130};
  static constexpr std::uint8_t grey[] = {
      137, 80, 78, 71, 13, 10, 26,  10,  0,   0,   0, 13, 73, 72, 68, 82, 0,  0,   0,   2,  0,  0,   0,   1,
      8,   4,  0,  0,  0,  94, 43,  183, 1,   0,   0, 0,  13, 73, 68, 65, 84, 120, 156, 99, 96, 255, 255, 139,
      1,   0,  5,  18, 2,  1,  144, 0,   104, 255, 0, 0,  0,  0,  73, 69, 78, 68,  174, 66, 96, 130};
  bitmap read;
  decode_png(palette, read);
  CHECK(read == bitmap{2, 2, {10, 20, 30, 200, 100, 50, 200, 100, 50, 10, 20, 30}});
  decode_png(grey, read);
  CHECK(read == bitmap{2, 1, {7, 7, 7, 250, 250, 250}});
}
