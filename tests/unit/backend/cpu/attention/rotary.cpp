// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/attention/rotary.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("rotary positions against plain loops, and back", T, float, bf16, double) {
  each_batch([](int threads, const sequences& seq) {
    for (const isize head_width : {2, 6, 32, 64})
      for (const isize heads : {1, 3}) {
        auto x = grid<T>(seq.rows(), heads * head_width, 3).random(1);
        const auto before = x;
        grid<double> want(seq.rows(), heads * head_width);
        for (isize s = 0; s < seq.samples; ++s)
          for (isize r = seq.begin(s); r < seq.end(s); ++r)
            for (isize h = 0; h < heads; ++h)
              for (isize i = 0; i < head_width / 2; ++i) {
                const double angle =
                    static_cast<double>(r - seq.begin(s)) *
                    std::pow(1e4, -2.0 * static_cast<double>(i) / static_cast<double>(head_width));
                const isize low = h * head_width + i, high = low + head_width / 2;
                want.at(r, low) = x(r, low) * std::cos(angle) - x(r, high) * std::sin(angle);
                want.at(r, high) = x(r, high) * std::cos(angle) + x(r, low) * std::sin(angle);
              }
        cpu_run_foretold(threads, [&](cpu::context& ctx) { rotary(ctx, seq, head_width, 1e4, 1, x.view()); });
        CHECK(distance(x, want) < tolerance<T>);
        cpu_run_foretold(threads,
                         [&](cpu::context& ctx) { rotary(ctx, seq, head_width, 1e4, -1, x.view()); });
        CHECK(distance(x, before) < 2 * tolerance<T>);
        CHECK(x.gaps_intact());
      }
  });
}

TEST_CASE("positions stay exact over a long sample") {
  const isize length = 20000, width = 8;
  auto x = grid<double>(length, width).fill(1);
  cpu_run_foretold(1, [&](cpu::context& ctx) { rotary(ctx, {1, length, nullptr}, width, 5e5, 1, x.view()); });
  double worst = 0;
  for (isize r = 0; r < length; ++r)
    for (isize i = 0; i < width / 2; ++i) {
      const double angle =
          static_cast<double>(r) * std::pow(5e5, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      worst = std::max(worst, std::abs(x(r, i) - (std::cos(angle) - std::sin(angle))));
    }
  CHECK(worst < 1e-10);
}

TEST_CASE("the gradient of rotary is the turn back") {
  const std::vector<isize> offsets{0, 4, 6};
  const sequences seq{2, 1, offsets.data()};
  auto x = grid<double>(6, 12).random(1);
  const auto dy = grid<double>(6, 12).random(2);
  auto dx = dy;
  std::vector<std::byte> space(4096);
  cpu::context ctx;
  ctx.memory = ctx.scratch = arena(space.data(), 4096);
  rotary(ctx, seq, 6, 100, -1, dx.view());
  CHECK(laws::gradient_error(x, dx, [&] {
          auto y = x;
          rotary(ctx, seq, 6, 100, 1, y.view());
          return laws::weighted_sum(y, dy);
        }) < 1e-8);
}

}  // namespace motet
