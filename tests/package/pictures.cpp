// SPDX-License-Identifier: Apache-2.0
// Writes a picture in both formats and reads it back.
#include <motet/data/pictures/decode.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace {
std::span<const std::uint8_t> bytes_of(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}
}  // namespace

int main() try {
  motet::bitmap drawn, read;
  drawn.width = drawn.height = 16;
  drawn.pixels.assign(16 * 16 * 3, 200);
  const std::string png = motet::encode_png(drawn), jpeg = motet::encode_jpeg(drawn);
  motet::decode_png(bytes_of(png), read);
  if (read.pixels != drawn.pixels) return 1;
  motet::decode_jpeg(bytes_of(jpeg), read);
  const auto is_near = [](int pixel) { return std::abs(pixel - 200) <= 4; };
  if (!std::all_of(read.pixels.begin(), read.pixels.end(), is_near)) return 1;
  std::puts("png and jpeg");
} catch (const motet::error& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
