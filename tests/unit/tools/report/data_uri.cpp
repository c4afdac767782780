// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/data_uri.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("base64 as RFC 4648 shows it") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe") == "//4=");
}

TEST_CASE("a bitmap has its header, rows from the bottom and padding") {
  const bitmap shot{1, 2, {1, 2, 3, 4, 5, 6}};
  const std::string bytes = encode_bmp(shot);
  REQUIRE(bytes.size() == 54 + 8);
  CHECK(bytes.substr(0, 2) == "BM");
  CHECK(bytes.substr(54) == std::string("\x06\x05\x04\0\x03\x02\x01\0", 8));
  CHECK(data_uri(shot).starts_with("data:image/"));
}
