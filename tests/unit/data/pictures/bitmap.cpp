// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/bitmap.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("PPM there and back") {
  const bitmap made = noise_picture(7, 5, 1);
  bitmap read;
  decode_ppm(bytes_of_text(encode_ppm(made)), read);
  CHECK(read == made);
}

TEST_CASE("headers with comments and any white space") {
  bitmap read;
  decode_ppm(bytes_of_text("P6 # made by hand\n#more\n 1\t2 \r\n255\nabcdef"), read);
  CHECK(read.width == 1);
  CHECK(read.height == 2);
  CHECK(read.pixels.back() == 'f');
}

TEST_CASE("damaged PPM is refused, at every cut") {
  const std::string whole = encode_ppm(noise_picture(3, 2, 1));
  bitmap read;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    CHECK(code_of([&] { decode_ppm(bytes_of_text(cut), read); }) == "MT-D05");
  }
  for (const char* bad :
       {"P5 1 1 255\nabc", "P6 1 1 65535\nabcdef", "P6 -1 1 255\nabc", "P6 0 1 255\n", "P6 1 x 255\n",
        "P6 99999999999999999999 1 255\n", "P6 100000 100000 255\n", "P6 1 1 255"}) {
    CAPTURE(bad);
    CHECK(code_of([&] { decode_ppm(bytes_of_text(bad), read); }) == "MT-D05");
  }
}

TEST_CASE("limits hold") {
  const std::string whole = encode_ppm(noise_picture(30, 20, 1));
  bitmap read;
  CHECK(code_of([&] { decode_ppm(bytes_of_text(whole), read, {29, 1000}); }) == "MT-D05");
  CHECK(code_of([&] { decode_ppm(bytes_of_text(whole), read, {30, 599}); }) == "MT-D05");
  CHECK(code_of([&] { decode_ppm(bytes_of_text(whole), read, {30, 600}); }).empty());
}
