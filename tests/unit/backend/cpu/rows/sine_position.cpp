// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/rows/sine_position.hpp>

#include <doctest/doctest.h>

#include "cpu_run.hpp"
#include "grid.hpp"

#include <vector>

using namespace motet;

namespace {

template <class T>
void check_positions(int threads) {
  constexpr motet::isize across = 3, width = 8, lead = 1, samples = 2;
  const sequences seq{samples, lead + across * across, nullptr};
  laws::grid<T> x(seq.rows(), width, 3);
  x.random(1);
  const laws::grid<T> before = x;
  laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
    sine_position_forward(ctx, seq, patch_geometry{3, 12, 4, lead}, x.view());
  });
  CHECK(x.gaps_intact());
  for (motet::isize r = 0; r < seq.rows(); ++r) {
    const motet::isize patch = r % seq.length - lead;
    for (motet::isize c = 0; c < width; ++c) {
      // Column c: half (row or column of the patch), then sin or cos, then the frequency.
      const double place = static_cast<double>(c < 4 ? patch / across : patch % across),
                   angle = place / std::pow(10000.0, static_cast<double>(c % 2) / 2);
      const double want = patch < 0 ? 0 : c % 4 < 2 ? std::sin(angle) : std::cos(angle);
      CHECK(x(r, c) == doctest::Approx(before(r, c) + want).epsilon(laws::tolerance<T>));
    }
  }
}

}  // namespace

TEST_CASE("rows get the sines and cosines of their place in time") {
  const std::vector<motet::isize> offsets{0, 4, 4, 5};
  const sequences seq{3, 1, offsets.data()};
  for (int threads = 1; threads <= 3; ++threads) {
    laws::grid<double> x(5, 6, 1);
    x.random(2);
    const laws::grid<double> before = x;
    laws::cpu_run_foretold(threads, [&](cpu::context& ctx) { time_position_forward(ctx, seq, x.view()); });
    CHECK(x.gaps_intact());
    for (motet::isize r = 0; r < 5; ++r)
      for (motet::isize c = 0; c < 6; ++c) {
        const double angle = static_cast<double>(r < 4 ? r : 0) / std::pow(100.0, static_cast<double>(c % 3));
        CHECK(x(r, c) == doctest::Approx(before(r, c) + (c < 3 ? std::sin(angle) : std::cos(angle))));
      }
  }
}

TEST_CASE("patches get the sines and cosines of their row and column, rows before them nothing") {
  for (int threads = 1; threads <= 3; ++threads) {
    check_positions<float>(threads);
    check_positions<double>(threads);
  }
}
