// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/tensor/resize_axis.hpp>

#include <algorithm>
#include <cmath>

namespace motet {

TEST_CASE(
    "weights fall with the distance between centres, reach as far as a pixel of the smaller picture, and "
    "their sum is told") {
  for (const int to : {1, 2, 5, 16, 37})
    for (int from = 1; from <= 16 * to; from += from < 3 * to ? 1 : 3 * to / 2 + 1) {
      const resize_axis axis{from, to};
      CAPTURE(from);
      CAPTURE(to);
      for (int i = 0; i < to; ++i) {
        const resize_axis::taps taps = axis.at(i);
        const double step = static_cast<double>(from) / to, support = std::max(1.0, step),
                     centre = (i + 0.5) * step;
        REQUIRE(taps.first >= 0);
        REQUIRE(taps.count >= 1);
        REQUIRE(taps.first + taps.count <= from);
        double sum = 0, all = 0;
        for (int at = 0; at < from; ++at) all += std::max(0.0, 1 - std::fabs(at + 0.5 - centre) / support);
        int told = 0;
        for (int t = 0; t < taps.count; ++t) {
          const double want = std::max(0.0, 1 - std::fabs(taps.first + t + 0.5 - centre) / support);
          REQUIRE(std::fabs(axis.weight(taps, t) / (2.0 * std::max(from, to)) - want) < 1e-12);
          sum += want;
          told += axis.weight(taps, t);
        }
        REQUIRE(told == taps.sum);
        // Nothing that counts is left out.
        REQUIRE(std::fabs(sum - all) < 1e-12 * all);
      }
    }
}

TEST_CASE("the largest sizes stay within 32 bits") {
  constexpr resize_axis axis{16 * 8000, 8000};
  static_assert(resize_axis::takes(16 * 8000, 8000) && !resize_axis::takes(16 * 8000 + 1, 8000) &&
                !resize_axis::takes(1, 8001));
  const resize_axis::taps last = axis.at(7999);
  CHECK(last.first + last.count == 16 * 8000);
  CHECK(last.first == 16 * 7999 + 8 - 16);
  CHECK(last.sum == (16 * 256 - 128 * 16 + 8 * 256 - 32 * 16) * 1000);
}

}  // namespace motet
