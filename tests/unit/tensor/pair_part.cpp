// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/pair_part.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace motet;

TEST_CASE("a part names its rows, and columns in pieces that are numbered through") {
  // Samples 0 and 1 are ours; the other side's rows come as sample 2, then samples 0 and 1.
  const std::array<float, 4> own{1, 2, 3, 4};
  std::array<float, 2> first{50, 60};
  const std::array<float, 4> second{10, 20, 30, 40};
  const matrix<float> writable{first.data(), 1, 2, 2};
  const std::array<matrix<const float>, 2> columns{writable, matrix<const float>{second.data(), 2, 2, 2}};
  const std::array<motet::isize, 2> matches{1, 2};
  const pair_part<float> part{{own.data(), 2, 2, 2}, matches.data(), columns, 3};

  motet::isize all = 0;
  std::array<float, 3> starts{};
  for (const matrix<const float>& piece : part.columns)
    for (motet::isize i = 0; i < piece.rows; ++i) starts[static_cast<std::size_t>(all++)] = piece.row(i)[0];
  CHECK(all == part.samples);
  CHECK(part.count() == 3);
  CHECK(part.first == 0);
  CHECK(pair_part<float>{}.count() == 0);
  for (motet::isize i = 0; i < part.rows.rows; ++i)
    CHECK(starts[static_cast<std::size_t>(part.matches[i])] == 10.0f + 20.0f * static_cast<float>(i));
}
