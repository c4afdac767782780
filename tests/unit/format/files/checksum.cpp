// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/checksum.hpp>

#include <doctest/doctest.h>

TEST_CASE("published values of XXH64") {
  CHECK(motet::checksum_text(motet::checksum("")) == "ef46db3751d8e999");
  CHECK(motet::checksum_text(motet::checksum("a")) == "d24ec4f1a98c6e5b");
  CHECK(motet::checksum_text(motet::checksum("abc")) == "44bc2cf5ad770999");
  CHECK(motet::checksum_text(motet::checksum("Nobody inspects the spammish repetition")) ==
        "fbcea83c8a378bf1");
}

TEST_CASE("every single damaged bit is noticed, at any length") {
  for (std::size_t length : {1u, 3u, 4u, 8u, 15u, 31u, 32u, 33u, 100u}) {
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(37 * i);
    const std::uint64_t good = motet::checksum(text);
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      std::string damaged = text;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      CHECK(motet::checksum(damaged) != good);
    }
    CHECK(motet::checksum(text, 1) != good);
    CHECK(motet::checksum(text + '\0') != good);
  }
}
