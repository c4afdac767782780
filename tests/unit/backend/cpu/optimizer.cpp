// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/optimizer.hpp>

#include "../../../laws/cpu_run.hpp"
#include "../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_planned, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("zero and the sum of squares of a flat buffer", T, float, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const index count : {0, 1, 15, 16, 100, 1003}) {
        auto x = grid<T>(1, count).random(1);
        double want = 0;
        for (index c = 0; c < count; ++c) want += x(0, c) * x(0, c);
        std::vector<double> got(static_cast<std::size_t>(threads), 0.0), again = got, after(got.size(), 1.0);
        cpu_run_planned(threads, [&](cpu::context& ctx) {
          const auto mine = static_cast<std::size_t>(ctx.thread);
          got[mine] = sum_of_squares(ctx, x.data.data(), count);
          again[mine] = sum_of_squares(ctx, x.data.data(), count);
          zero(ctx, x.data.data(), count);
          after[mine] = sum_of_squares(ctx, x.data.data(), count);
        });
        for (std::size_t t = 0; t < got.size(); ++t) {
          CHECK(std::abs(got[t] - want) <= 1e-12 * (1 + want));
          CHECK(got[t] == got[0]);
          CHECK(again[t] == got[0]);
          CHECK(after[t] == 0);
        }
        CHECK(x.gaps_intact());
      }
  });
}

TEST_CASE_TEMPLATE("adamw follows its definition", T, float, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const index count : {0, 1, 15, 100, 1003})
        for (const bool clear : {false, true}) {
          auto weight = grid<T>(1, count).random(1), gradient = grid<T>(1, count).random(2);
          auto first = grid<T>(1, count).fill(0), second = grid<T>(1, count).fill(0);
          grid<double> w(1, count), m(1, count), v(1, count);
          for (index c = 0; c < count; ++c) w.at(0, c) = weight(0, c), m.at(0, c) = v.at(0, c) = 0;
          cpu::adamw_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 0.5, 1, 1};
          for (int t = 1; t <= 4; ++t) {
            gradient.random(static_cast<std::uint64_t>(t), 2);
            const auto drawn = gradient;
            step.correction1 = 1 - std::pow(step.beta1, t);
            step.correction2 = 1 - std::pow(step.beta2, t);
            for (index c = 0; c < count; ++c) {
              const double g = gradient(0, c) * step.clip_scale;
              w.at(0, c) *= 1 - step.rate * step.decay;
              m.at(0, c) = step.beta1 * m(0, c) + (1 - step.beta1) * g;
              v.at(0, c) = step.beta2 * v(0, c) + (1 - step.beta2) * g * g;
              const double root = std::sqrt(v(0, c)) / std::sqrt(step.correction2) + step.epsilon;
              w.at(0, c) -= step.rate / step.correction1 * m(0, c) / root;
            }
            cpu_run_planned(threads, [&](cpu::context& ctx) {
              adamw(ctx, weight.data.data(), gradient.data.data(), first.data.data(), second.data.data(), count, step, clear);
            });
            if (clear) CHECK(distance(gradient, grid<T>(1, count).fill(0)) == 0);
            else CHECK(distance(gradient, drawn) == 0);
          }
          CHECK(distance(weight, w) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK(distance(first, m) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK(distance(second, v) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK((weight.gaps_intact() && gradient.gaps_intact() && first.gaps_intact() && second.gaps_intact()));
        }
  });
}

TEST_CASE("a gradient of zero moves a weight by its decay alone") {
  auto weight = grid<float>(1, 40).random(1), gradient = grid<float>(1, 40).fill(0), first = gradient, second = gradient;
  const auto before = weight;
  const cpu::adamw_step step{0.1, 0.9, 0.999, 1e-8, 0.5, 1, 0.1, 0.001};
  cpu_run_planned(
      1, [&](cpu::context& ctx) { adamw(ctx, weight.data.data(), gradient.data.data(), first.data.data(), second.data.data(), 40, step, true); });
  for (index c = 0; c < 40; ++c) CHECK(weight.at(0, c) == doctest::Approx(before.at(0, c) * 0.95f));
}

TEST_CASE("a number is clamped where it lies") {
  float numbers[] = {5, 4, -9};
  cpu_run_planned(2, [&](cpu::context& ctx) {
    for (float& each : numbers) clamp_to(ctx, &each, 4.5f);
  });
  CHECK((numbers[0] == 4.5f && numbers[1] == 4 && numbers[2] == -9));
}

}  // namespace motet
