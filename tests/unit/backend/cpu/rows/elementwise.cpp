// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/elementwise.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("add, scale, copy and zero on rows", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 7, 16, 37, 80}) {
      auto a = grid<stream>(seq.rows(), width, 3).random(1);
      const auto b = grid<value>(seq.rows(), width, 1).random(2);
      grid<value> sum(seq.rows(), width, 2), copied(seq.rows(), width), back(seq.rows(), width, 5),
          scaled(seq.rows(), width, 2);
      grid<stream> widened(seq.rows(), width, 1);
      grid<double> want_sum(seq.rows(), width), want_twice(seq.rows(), width), want_scaled(seq.rows(), width);
      for (isize r = 0; r < seq.rows(); ++r)
        for (isize c = 0; c < width; ++c) {
          want_sum.at(r, c) = a(r, c) + b(r, c);
          want_twice.at(r, c) = 2 * a(r, c);
          want_scaled.at(r, c) = 0.75 * a(r, c);
        }
      const auto first = a;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        add(ctx, seq, a.view(), b.view(), sum.view());
        copy(ctx, seq, a.view(), copied.view());
        scale_rows(ctx, seq, 1.5, a.view(), scaled.view());
        scale_rows(ctx, seq, 0.5, scaled.view(), scaled.view());  // in place
        copy(ctx, seq, copied.view(), widened.view());
        add(ctx, seq, a.view(), a.view(), a.view());  // in place
        copy(ctx, seq, b.view(), back.view());
        zero(ctx, seq, back.view());
      });
      CHECK(distance(sum, want_sum) < tolerance<value>);
      CHECK(distance(copied, first) < tolerance<value>);
      CHECK(distance(scaled, want_scaled) < tolerance<value>);
      CHECK(distance(widened, copied) == 0);
      CHECK(distance(a, want_twice) < tolerance<stream>);
      CHECK(distance(back, grid<value>(seq.rows(), width).fill(0)) == 0);
      CHECK((sum.gaps_intact() && copied.gaps_intact() && widened.gaps_intact() && a.gaps_intact() &&
             back.gaps_intact() && scaled.gaps_intact()));
    }
  });
}

TEST_CASE("conversion to bf16 rounds to even and keeps what is not a number") {
  const float cases[] = {0.0f,      -0.0f, 1.00390625f, 1.01171875f, 3.4e38f,    -3.4e38f,       INFINITY,
                         -INFINITY, NAN,   1e-40f,      0x1.fep-3f,  0x1.ffp-3f, 1.0f + 0x1p-23f};
  const isize width = 13;
  grid<float> x(2, width), back(2, width);
  grid<bf16> y(2, width);
  for (isize r = 0; r < 2; ++r)
    for (isize c = 0; c < width; ++c) x.at(r, c) = cases[(c + r * 5) % width];
  const sequences seq{2, 1, nullptr};
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    copy(ctx, seq, x.view(), y.view());
    copy(ctx, seq, y.view(), back.view());
  });
  for (isize r = 0; r < 2; ++r)
    for (isize c = 0; c < width; ++c) {
      const float got = back.at(r, c), want = static_cast<float>(bf16(x.at(r, c)));
      CHECK((got == want || (std::isnan(got) && std::isnan(want))));
    }
}

TEST_CASE("a dry run notes the bytes that must move") {
  const sequences seq{4, 2, nullptr};
  const auto a = grid<float>(8, 10).random(1);
  grid<bf16> y(8, 10);
  const auto noted =
      cpu_run_foretold(2, [&](cpu::context& ctx) { add(ctx, seq, a.view(), a.view(), y.view()); });
  CHECK(noted.begin()->bytes == 8 * 10 * (4 + 4 + 2));
  CHECK(noted.flops() == 80);
}

}  // namespace motet
