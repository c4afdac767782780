// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/caption_places.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a caption stands behind its picture, and each of its rows is asked for the next token") {
  const std::vector<std::int32_t> ids{7, 8, 9, 5};
  const std::vector<motet::isize> offsets{0, 3, 4};
  caption_places places(3, 1);
  for (int twice = 0; twice < 2; ++twice) {
    const placed_tokens made = places.of({ids.data(), {2, 0, offsets.data()}});
    REQUIRE(made.seq.rows() == 8);
    CHECK(made.seq.begin(1) == 5);
    CHECK(made.sources == 2);
    CHECK(made.share == 0.5);
    CHECK(std::vector<std::int32_t>(made.targets, made.targets + 8) ==
          std::vector<std::int32_t>{-1, -1, 8, 9, -1, -1, -1, -1});
    CHECK(std::vector<std::int32_t>(made.ids, made.ids + 8) == std::vector<std::int32_t>(8, -1));
    // Of two pictures of three rows each, then of the captions.
    REQUIRE(made.entering_count() == 10);
    CHECK(made.rows_that_enter(1).rows_of(0) == 3);
    CHECK(std::vector<std::int32_t>(made.places, made.places + 10) ==
          std::vector<std::int32_t>{-1, 0, 1, -1, 5, 6, 2, 3, 4, 7});
  }
}
