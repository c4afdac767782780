// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/losses/squared_error.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

TEST_CASE(
    "a sample loses its share of the squares of what it is off, and its gradient is that of differences") {
  laws::each_batch([](int threads, const sequences& seq) {
    auto x = grid<double>(seq.rows(), 3, 1).random(1);
    const auto target = grid<double>(seq.rows(), 3, 2).random(2), dy = grid<double>(seq.samples, 1).random(3);
    grid<double> off(seq.rows(), 3), y(seq.samples, 1), dx(seq.rows(), 3, 2);
    const auto loss = [&] {
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        squared_error_forward(ctx, seq, 0.75, x.view(), target.view(), off.view(), y.view());
      });
      return laws::weighted_sum(y, dy);
    };
    loss();
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      squared_error_backward(ctx, seq, 0.75, off.view(), dy.view(), dx.view());
    });
    for (isize s = 0; s < seq.samples; ++s) {
      double want = 0;
      for (isize r = seq.begin(s); r < seq.end(s); ++r)
        for (isize c = 0; c < 3; ++c) want += 0.75 * std::pow(x(r, c) - target(r, c), 2);
      CHECK(y(s, 0) == doctest::Approx(want));
    }
    CHECK(laws::gradient_error(x, dx, loss) < 1e-8);
    CHECK(dx.gaps_intact());
  });
}

}  // namespace motet
