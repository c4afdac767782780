// SPDX-License-Identifier: Apache-2.0
#include "../../../../../laws/each_kernel.hpp"
#include "../../../../../laws/grid.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/attention/attention_softmax.hpp>
#include <motet/backend/cpu/kernels/products/tile_kernels.hpp>

#include <cmath>

namespace motet {
namespace {

using laws::with_each_kernel;

template <class T>
void check_product(isize m, isize n, isize k, bool transposed, bool add, double tolerance) {
  constexpr isize lanes = cpu::tile_lanes<T>;
  laws::grid<T> a(transposed ? k : m, transposed ? m : k, 3), b(k, round_up(n, lanes)),
      c(m, round_up(n, lanes), 5);
  a.random(1), b.random(2), c.random(3);
  auto wanted = c;
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < c.width; ++j) {
      double sum = add ? wanted(i, j) : 0;
      for (isize p = 0; p < k; ++p) sum += (transposed ? a(p, i) : a(i, p)) * b(p, j);
      wanted.at(i, j) = static_cast<T>(sum);
    }
  cpu::tiles::multiply<T>(m, c.width, k, a.data.data(), transposed ? 1 : a.stride, transposed ? a.stride : 1,
                          b.data.data(), b.stride, c.data.data(), c.stride, add);
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CHECK(laws::distance(c, wanted) < tolerance);
  CHECK(c.gaps_intact());
}

template <class From, class To>
void check_packing(isize rows, isize width) {
  constexpr isize lanes = cpu::tile_lanes<To>;
  laws::grid<From> from(rows, width, 2);
  from.random(4);
  laws::grid<To> straight(rows, round_up(width, lanes)), across(width, round_up(rows, lanes), 7);
  cpu::tiles::pack(rows, width, from.data.data(), from.stride, straight.data.data(), straight.stride);
  cpu::tiles::pack_transposed(rows, width, from.data.data(), from.stride, across.data.data(), across.stride);
  bool same = true;
  for (isize r = 0; r < rows; ++r)
    for (isize w = 0; w < straight.width; ++w) same &= straight(r, w) == (w < width ? from(r, w) : 0);
  for (isize w = 0; w < width; ++w)
    for (isize r = 0; r < across.width; ++r) same &= across(w, r) == (r < rows ? from(r, w) : 0);
  CHECK(same);
  CHECK(across.gaps_intact());
  laws::grid<From> back(rows, width, 2);
  cpu::tiles::unpack(rows, width, straight.data.data(), straight.stride, static_cast<const To*>(nullptr),
                     back.data.data(), back.stride);
  CHECK(laws::distance(back, from) == 0);
  CHECK(back.gaps_intact());
}

}  // namespace

TEST_CASE("multiply is a product for every number of rows, columns and steps") {
  with_each_kernel([] {
    for (const isize m : {1, 2, 3, 5, 6, 7, 8, 9, 13, 17, 49})
      for (const isize n : {1, 16, 33, 64, 80, 97})
        for (const isize k : {1, 7, 64}) {
          check_product<float>(m, n, k, false, false, 1e-5);
          check_product<float>(m, n, k, true, true, 1e-5);
        }
    check_product<float>(7, 48, 300, false, true, 1e-4);  // more steps than go at once
    check_product<float>(7, 48, 0, false, false, 1e-6);
    check_product<double>(13, 19, 170, true, true, 1e-12);
    check_product<double>(4, 8, 5, false, false, 1e-12);
  });
}

TEST_CASE("packing and transposing move every number and fill with zeros") {
  with_each_kernel([] {
    for (const isize rows : {1, 3, 16, 17, 40})
      for (const isize width : {1, 5, 16, 31, 64}) {
        check_packing<float, float>(rows, width);
        check_packing<bf16, float>(rows, width);
        check_packing<double, double>(rows, width);
      }
  });
}

TEST_CASE("products with a row, and with a vector") {
  with_each_kernel([] {
    laws::grid<float> a(9, 48), b(9, 37, 4), x(1, 48), out(9, 1, 2), wanted(9, 1, 2);
    a.random(1), b.random(2), x.random(3);
    for (isize r = 0; r < 9; ++r)
      for (isize w = 37; w < 48; ++w) a.at(r, w) = x.at(0, w) = 0;
    for (isize r = 0; r < 9; ++r) {
      double sum = 0;
      for (isize w = 0; w < 48; ++w) sum += a(r, w) * x(0, w);
      wanted.at(r, 0) = static_cast<float>(sum);
    }
    cpu::tiles::times_vector(9, 48, a.data.data(), a.stride, x.data.data(), out.data.data(), out.stride);
    CHECK(laws::distance(out, wanted) < 1e-6);
    CHECK(out.gaps_intact());
    float rows[9];
    cpu::tiles::dot_rows(9, 37, a.data.data(), a.stride, b.data.data(), b.stride, rows);
    for (isize r = 0; r < 9; ++r) {
      double sum = 0;
      for (isize w = 0; w < 37; ++w) sum += a(r, w) * b(r, w);
      CHECK(std::abs(static_cast<double>(rows[r]) - sum) < 1e-5);
    }
  });
}

TEST_CASE("softmax of a tile: powers, zeros where a row may not see, and an online sum") {
  with_each_kernel([] {
    laws::grid<float> first(4, 32), second(4, 16);
    first.random(5, 90), second.random(6, 90);  // far apart: most of it underflows
    const auto old_first = first, old_second = second;
    float peak[4], sum[4] = {}, fade[4];
    for (float& p : peak) p = cpu::no_peak<float>;
    const double scale = -1.5;  // a negative scale turns the order round
    cpu::tiles::softmax<float>(4, 29, {26, 1}, -1.5f, first.data.data(), first.stride, peak, sum, fade);
    float first_peak[4];
    for (int i = 0; i < 4; ++i) first_peak[i] = peak[i];
    cpu::tiles::softmax<float>(4, 16, {-3, 1}, -1.5f, second.data.data(), second.stride, peak, sum, fade);
    for (isize i = 0; i < 4; ++i) {
      double top = -INFINITY, total = 0;
      const isize seen = 26 + i;
      for (isize j = 0; j < seen; ++j) top = std::max(top, scale * old_first(i, j));
      for (isize j = 0; j < 32; ++j) {
        const double want = j < seen ? std::exp2(scale * old_first(i, j) - top) : 0;
        CHECK(std::abs(first(i, j) - want) < 1e-4 * want + 1e-37);
        if (j >= seen) CHECK(first(i, j) == 0);
        total += want;
      }
      for (isize j = 0; j < 16; ++j) CHECK(second(i, j) == 0);
      CHECK(fade[i] == 1);
      CHECK(peak[i] == first_peak[i]);
      CHECK(static_cast<double>(sum[i]) == doctest::Approx(total));
    }
  });
}

}  // namespace motet
