// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/joined_squares.hpp>

#include <motet/backend/cpu/operations.hpp>

#include "cpu_run.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace motet;

namespace {

template <class L>
std::vector<double> forward(const std::vector<double>& x, motet::isize samples) {
  std::vector<double> y(as_size(samples * L::rows_behind * L::out), -1);
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    typename L::template saved<fp64> s;
    L::forward(ctx, weights<fp64>{}, sequences{samples, L::rows_before, nullptr},
               view<const double, L::in>(x.data(), samples * L::rows_before),
               view<double, L::out>(y.data(), samples * L::rows_behind), s);
  });
  return y;
}
template <class L>
std::vector<double> backward(const std::vector<double>& dy, motet::isize samples) {
  std::vector<double> dx(as_size(samples * L::rows_before * L::in), -1);
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    typename L::template saved<fp64> s;
    L::backward_input(ctx, weights<fp64>{}, sequences{samples, L::rows_before, nullptr},
                      view<const double, L::in>{},
                      view<const double, L::out>(dy.data(), samples * L::rows_behind),
                      view<double, L::in>(dx.data(), samples * L::rows_before), s);
  });
  return dx;
}
std::vector<double> counted(motet::isize size) {
  std::vector<double> out(as_size(size));
  std::iota(out.begin(), out.end(), 0.0);
  return out;
}

}  // namespace

static_assert(check_squares(6, 3).ok() && check_squares(6, 1).ok());
static_assert(check_squares(6, 4).why == reason::squares_do_not_divide && !check_squares(6, 0).ok());

TEST_CASE("rows of a square are joined in the order of InternVL's pixel_shuffle") {
  // What that function (ps_version v2) makes of the numbers 0 to 31 as 4 x 4 rows of two.
  const std::vector<double> wanted{0,  1,  2,  3,  8,  9,  10, 11, 4,  5,  6,  7,  12, 13, 14, 15,
                                   16, 17, 18, 19, 24, 25, 26, 27, 20, 21, 22, 23, 28, 29, 30, 31};
  CHECK(forward<joined_squares<2, 4, 0, 2>>(counted(32), 1) == wanted);
}

TEST_CASE("squares of one leave rows as they are, and one of the whole grid is one row") {
  CHECK(forward<joined_squares<3, 2, 0, 1>>(counted(24), 2) == counted(24));
  CHECK(forward<joined_squares<3, 2, 0, 2>>(counted(24), 2) == counted(24));
}

TEST_CASE("leading rows are left out, and backward is forward turned around") {
  using layer = joined_squares<2, 4, 1, 2>;
  constexpr motet::isize samples = 5;
  std::vector<double> x = counted(samples * 17 * 2);
  const std::vector<double> y = forward<layer>(x, samples);
  for (motet::isize s = 0; s < samples; ++s) x[as_size(34 * s)] = x[as_size(34 * s + 1)] = 0;
  CHECK(backward<layer>(y, samples) == x);
  CHECK(forward<layer>(x, samples) == y);
  CHECK(forward<layer>(x, 0).empty());
}
