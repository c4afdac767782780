// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/layers/dropout.hpp>

#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/linear.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

template <class L>
laws::reals dropped(cpu::draw_key draws, int threads, motet::isize rows) {
  laws::reals x(static_cast<std::size_t>(rows * L::in), 1.0), y(x.size(), laws::not_written);
  laws::cpu_run(
      threads, 0, 0,
      [&](cpu::context& ctx) {
        typename L::template saved<fp64> s;
        L::forward(ctx, weights<fp64>{}, sequences{rows, 1, nullptr},
                   view<const double, L::in>(x.data(), rows), view<double, L::out>(y.data(), rows), s);
      },
      draws);
  return y;
}

}  // namespace

TEST_CASE("dropout keeps the laws: backward drops what forward dropped") {
  laws::check_layer<dropout<9, 0.3f, "a">>();
  laws::check_layer<sequential<linear<5, 7>, dropout<7, 0.5f, "hidden">, linear<7, 3>>>();
}

TEST_CASE("a recomputed dropout drops the same again") {
  using net = sequential<linear<5, 7>, dropout<7, 0.5f, "hidden">, linear<7, 3>>;
  laws::check_equal_layers<recompute<net>, net>();
}

TEST_CASE("what is dropped follows from seed, step, key and global row, not from threads") {
  using layer_type = dropout<16, 0.25f, "a">;
  const laws::reals base = dropped<layer_type>({1, 2, 0}, 1, 200);
  CHECK(base == dropped<layer_type>({1, 2, 0}, 3, 200));
  CHECK(base != dropped<layer_type>({2, 2, 0}, 1, 200));
  CHECK(base != dropped<layer_type>({1, 3, 0}, 1, 200));
  CHECK(base != dropped<dropout<16, 0.25f, "b">>({1, 2, 0}, 1, 200));
  // The rows from 50 on, as a later part of the same batch.
  const laws::reals later = dropped<layer_type>({1, 2, 50}, 2, 150);
  CHECK(later == laws::reals(base.begin() + 50 * 16, base.end()));

  double kept = 0;
  for (const double y : base) {
    CHECK((y == 0 || y == doctest::Approx(4.0 / 3)));
    kept += y != 0;
  }
  // 3200 numbers: five standard deviations are 0.038.
  CHECK(std::abs(kept / static_cast<double>(base.size()) - 0.75) < 0.04);
}

TEST_CASE("evaluation drops nothing") {
  for (const double y : dropped<dropout<8, 0.5f, "a">>({1, 2, 0, false}, 2, 20)) CHECK_EQ(y, 1);
}
