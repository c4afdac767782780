// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/tensor/packed_pictures.hpp>

namespace motet {

TEST_CASE("a picture's bytes are found from the origin's, also in a slice") {
  const std::uint8_t bytes[64] = {};
  const packed_picture each[3] = {{1000, 16, 4, 1, 0}, {1016, 16, 5, 2, 1}, {1048, 16, 2, 1, 0}};
  packed_pictures all;
  all.bytes = bytes;
  all.each = all.origin = each;
  CHECK(all.of(0) == bytes);
  CHECK(all.of(2) == bytes + 48);
  packed_pictures rest = all;
  rest.each += 1;
  CHECK(rest.of(0) == bytes + 16);
  CHECK(rest.of(1) == bytes + 48);
}

TEST_CASE("what stays as it is takes no more than floats, and fits in a line") {
  static_assert(packed_pictures::most_bytes(3, 5) == 304);
  CHECK(packed_pictures::takes(32, 32, 3, 16));
  CHECK_FALSE(packed_pictures::takes(33, 32, 3, 16));  // 112 bytes a row, 3584 in all; floats are 3072
  CHECK(packed_pictures::takes(1, 192, 3, 16));
  CHECK_FALSE(packed_pictures::takes(1, 193, 3, 16));
  CHECK_FALSE(packed_pictures::takes(16 * 16 + 1, 1, 3, 16));
  CHECK(packed_pictures::takes(2730, 100, 3, 1024));
  CHECK_FALSE(packed_pictures::takes(2731, 100, 3, 1024));
  CHECK(packed_pictures::takes(8, 8, 4, 8));
  CHECK_FALSE(packed_pictures::takes(8, 8, 5, 8));
}

}  // namespace motet
