// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/jpeg.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("JPEG there and nearly back, or a word about the library") {
  bitmap made{40, 24, {}};
  for (motet::isize y = 0; y < 24; ++y) {
    for (motet::isize x = 0; x < 40; ++x) {
      for (const motet::isize value : {x * 6, y * 10, motet::isize{90}})
        made.pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  bitmap read;
  if (!has_jpeg) {
    CHECK(code_of([&] { encode_jpeg(made); }) == "MT-D06");
    CHECK(code_of([&] { decode_jpeg({}, read); }) == "MT-D06");
    return;
  }
  const std::string bytes = encode_jpeg(made);
  decode_jpeg(bytes_of_text(bytes), read);
  REQUIRE(read.width == 40);
  REQUIRE(read.height == 24);
  int worst = 0;
  for (std::size_t i = 0; i < made.pixels.size(); ++i)
    worst = std::max(worst, std::abs(int{made.pixels[i]} - int{read.pixels[i]}));
  CHECK(worst < 16);
  CHECK(bytes == encode_jpeg(made));
  // the last two bytes say only that the file ends
  for (std::size_t length = 0; length < bytes.size() - 2; ++length) {
    const std::string cut = bytes.substr(0, length);
    CAPTURE(length);
    REQUIRE(code_of([&] { decode_jpeg(bytes_of_text(cut), read); }) == "MT-D05");
  }
  CHECK(code_of([&] { decode_jpeg(bytes_of_text(bytes), read, {39, 10000}); }) == "MT-D05");
  CHECK(code_of([&] { encode_jpeg(bitmap{}); }) == "MT-D08");
  // After all those errors the decoder still works.
  decode_jpeg(bytes_of_text(bytes), read);
  CHECK(read.width == 40);
}
