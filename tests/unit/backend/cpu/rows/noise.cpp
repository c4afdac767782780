// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/noise.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("rows are mixed with the noise of their picture's place, and none before them", Y, float,
                   bf16, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const isize samples : {0, 1, 4})
        for (const isize lead : {0, 1})
          for (const noise_mix how : {noise_mix::noised, noise_mix::velocity}) {
            const noise_draws draws{.seed = 2, .step = 9, .first = 3};
            const isize rows = 3, numbers = 7;  // an odd number, so that patches begin within blocks of draws
            grid<Y> y((lead + rows) * samples, numbers + 2, 1);
            y.random(1);
            const grid<Y> x = y;
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              mix_noise(ctx, {samples, lead + rows, nullptr}, draws, lead, numbers, how, y.view());
            });
            grid<double> want(y.rows, y.width);
            for (isize s = 0; s < samples; ++s)
              for (isize r = 0; r < lead + rows; ++r)
                for (isize c = 0; c < y.width; ++c) {
                  const isize at = s * (lead + rows) + r;
                  const double from = x(at, c), time = static_cast<double>(draws.time(s));
                  const auto number =
                      static_cast<std::uint64_t>((3 + s) * rows * numbers + (r - lead) * numbers + c);
                  // As everywhere, normals are floats, whatever is made of them.
                  const auto noise = static_cast<double>(static_cast<float>(draws.noise().normal(number)));
                  want.at(at, c) = r < lead || c >= numbers   ? from
                                   : how == noise_mix::noised ? (1 - time) * from + time * noise
                                                              : noise - from;
                }
            CHECK(distance(y, want) < tolerance<Y>);
            CHECK(y.gaps_intact());
          }
  });
}

TEST_CASE("a picture's time and class are told") {
  const float times[] = {0, 0.25f, 1};
  const std::int32_t classes[] = {4, -1, 0};
  const noise_draws given{.times = times};
  for (int threads = 1; threads <= 3; ++threads) {
    grid<double> y(3, 6, 1);
    std::int32_t told[4] = {9, 9, 9, 9};
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      time_features(ctx, {3, 1, nullptr}, given, y.view());
      told_classes(ctx, {3, 1, nullptr}, given, classes, isize{5}, 0.9f, told);
    });
    CHECK(y.gaps_intact());
    for (isize s = 0; s < 3; ++s)
      for (isize i = 0; i < 3; ++i) {
        const double angle =
            1000 * static_cast<double>(times[s]) / std::pow(10000.0, static_cast<double>(i) / 3);
        CHECK(y(s, i) == doctest::Approx(std::cos(angle)));
        CHECK(y(s, 3 + i) == doctest::Approx(std::sin(angle)));
      }
    CHECK(told[0] == 4);
    CHECK(told[1] == 5);
    CHECK(told[2] == 0);
    CHECK(told[3] == 9);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      told_classes(ctx, {3, 1, nullptr}, noise_draws{}, nullptr, isize{5}, 0.0f, told);
    });
    CHECK(told[0] == 5);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      told_classes(ctx, {3, 1, nullptr}, noise_draws{}, classes, isize{5}, 1.0f, told);
    });
    CHECK(told[0] == 5);
  }
}

}  // namespace motet
