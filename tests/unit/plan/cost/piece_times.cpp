// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/piece_times.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {
// Plays the pieces one by one: when one is begun to be computed, the exchange of the next begins.
double played(const piece_times& of, int pieces) {
  const double exchange = (of.exchange + (pieces - 1) * of.further) / pieces, product = of.product / pieces;
  double came = exchange, made = 0;
  for (int p = 0; p < pieces; ++p) {
    const double begins = std::max(came, made);
    came = begins + exchange;
    made = begins + product;
  }
  return made;
}
}  // namespace

TEST_CASE("in one piece product and exchange follow each other, in many the longer hides the shorter") {
  static_assert(piece_times{3, 1}.seconds(1) == 4);
  static_assert(piece_times{3, 1}.seconds(2) == 3.5);
  static_assert(piece_times{1, 3}.seconds(2) == 3.5);
  static_assert(piece_times{3, 1}.gain(2) == 8.0 / 7);
  for (const piece_times& of : {piece_times{3, 1}, piece_times{1, 3}, piece_times{2, 2}, piece_times{2, 0}})
    for (const int pieces : {1, 2, 3, 8, 64}) {
      CHECK(of.seconds(pieces) == doctest::Approx(played(of, pieces)));
      CHECK(of.seconds(pieces) >= std::max(of.product, of.exchange));
    }
}

TEST_CASE("what each further piece takes bounds their number") {
  static_assert(piece_times{3, 1}.best() == 8);
  static_assert(piece_times{3, 1}.best(4) == 4);
  static_assert(piece_times{3, 0}.best() == 1);
  for (const double further : {0.0, 0.01, 0.05, 0.2, 2.0}) {
    const piece_times of{3, 1, further};
    for (int pieces = 1; pieces <= 8; pieces *= 2) CHECK(of.seconds(of.best()) <= of.seconds(pieces));
  }
  static_assert(piece_times{3, 1, 2}.best() == 1);
  static_assert(piece_times{0.2, 1, 0.05}.best() == 2);
}
