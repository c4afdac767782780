// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/efficiency.hpp>

#include <doctest/doctest.h>

using namespace motet;
using doctest::Approx;

static_assert(efficiency_curve{.best = 0.8}.of(1, 1) == 0.8);
static_assert(efficiency_curve{.best = 0.8, .half_rows = 64}.of(64, 1) == 0.4);
static_assert(efficiency_curve{.best = 0.8, .half_rows = 64, .half_columns = 32}.of(64, 32) == 0.2);

TEST_CASE("large products come near the best, short sides take their share") {
  constexpr efficiency_curve curve{.best = 0.7, .half_rows = 100, .half_columns = 300};
  CHECK(curve.of(1e9, 1e9) == Approx(0.7));
  CHECK(curve.of(100, 1e9) == Approx(0.35));
  CHECK(curve.of(1e9, 300) == Approx(0.35));
  // What is not known costs nothing.
  CHECK(curve.of(0, 1e9) == Approx(0.7));
  CHECK(curve.of(1e9, 0) == Approx(0.7));
}

TEST_CASE("a longer side is never less efficient, and a product cut in two never takes half the time") {
  constexpr efficiency_curve curve{.best = 0.6, .half_rows = 48, .half_columns = 200};
  const auto seconds = [&](double rows, double columns) { return rows * columns / curve.of(rows, columns); };
  for (double rows = 1; rows < 1e5; rows *= 1.7) {
    for (double columns = 1; columns < 1e5; columns *= 1.7) {
      CHECK(curve.of(rows * 1.7, columns) > curve.of(rows, columns));
      CHECK(curve.of(rows, columns * 1.7) > curve.of(rows, columns));
      CHECK(curve.of(rows, columns) < curve.best);
      CHECK(seconds(rows, columns / 2) > seconds(rows, columns) / 2);
      CHECK(seconds(rows / 2, columns) > seconds(rows, columns) / 2);
      CHECK(seconds(rows, columns / 2) < seconds(rows, columns));
    }
  }
}
