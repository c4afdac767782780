// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/parameters/optimizer.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("zero and the sum of squares of a flat buffer", T, float, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const isize count : {0, 1, 15, 16, 100, 1003}) {
        auto x = grid<T>(1, count).random(1);
        double want = 0;
        for (isize c = 0; c < count; ++c) want += x(0, c) * x(0, c);
        std::vector<double> got(static_cast<std::size_t>(threads), 0.0), again = got, after(got.size(), 1.0);
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
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
      for (const isize count : {0, 1, 15, 100, 1003})
        for (const bool clear : {false, true}) {
          auto weight = grid<T>(1, count).random(1), gradient = grid<T>(1, count).random(2);
          auto first = grid<T>(1, count).fill(0), second = grid<T>(1, count).fill(0);
          grid<double> w(1, count), m(1, count), v(1, count);
          for (isize c = 0; c < count; ++c) w.at(0, c) = weight(0, c), m.at(0, c) = v.at(0, c) = 0;
          cpu::update_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 0.5, 1, 1};
          for (int t = 1; t <= 4; ++t) {
            gradient.random(static_cast<std::uint64_t>(t), 2);
            const auto drawn = gradient;
            step.correction1 = 1 - std::pow(step.beta1, t);
            step.correction2 = 1 - std::pow(step.beta2, t);
            for (isize c = 0; c < count; ++c) {
              const double g = gradient(0, c) * step.clip_scale;
              w.at(0, c) *= 1 - step.rate * step.decay;
              m.at(0, c) = step.beta1 * m(0, c) + (1 - step.beta1) * g;
              v.at(0, c) = step.beta2 * v(0, c) + (1 - step.beta2) * g * g;
              const double root = std::sqrt(v(0, c)) / std::sqrt(step.correction2) + step.epsilon;
              w.at(0, c) -= step.rate / step.correction1 * m(0, c) / root;
            }
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              adamw(ctx, weight.data.data(), gradient.data.data(), first.data.data(), second.data.data(),
                    count, step, clear);
            });
            if (clear) CHECK(distance(gradient, grid<T>(1, count).fill(0)) == 0);
            else CHECK(distance(gradient, drawn) == 0);
          }
          CHECK(distance(weight, w) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK(distance(first, m) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK(distance(second, v) < (sizeof(T) == 4 ? 5e-7 : 1e-14));
          CHECK((weight.gaps_intact() && gradient.gaps_intact() && first.gaps_intact() &&
                 second.gaps_intact()));
        }
  });
}

TEST_CASE("a gradient of zero moves a weight by its decay alone") {
  auto weight = grid<float>(1, 40).random(1), gradient = grid<float>(1, 40).fill(0), first = gradient,
       second = gradient;
  const auto before = weight;
  const cpu::update_step step{0.1, 0.9, 0.999, 1e-8, 0.5, 1, 0.1, 0.001};
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    adamw(ctx, weight.data.data(), gradient.data.data(), first.data.data(), second.data.data(), 40, step,
          true);
  });
  for (isize c = 0; c < 40; ++c) CHECK(weight.at(0, c) == doctest::Approx(before.at(0, c) * 0.95f));
}

TEST_CASE_TEMPLATE("a list of runs is what its runs are one by one", T, float, double) {
  const std::vector<isize> counts{5, 0, 64, 1, 333, 2};
  isize all = 0;
  for (const isize count : counts) all += count;
  for (int threads = 1; threads <= 3; ++threads)
    for (const double clip : {0.0, 0.01}) {
      struct buffers {
        grid<T> w, g, m, v;
      };
      buffers one{grid<T>(1, all).random(1), grid<T>(1, all).random(2), grid<T>(1, all).random(3),
                  grid<T>(1, all).random(4, 0.5, 0.5)};
      buffers other = one, kept = one;
      const auto runs_of = [&](buffers& of) {
        std::vector<update_run<T>> runs;
        isize at = 0;
        for (std::size_t r = 0; r < counts.size(); at += counts[r], ++r) {
          const auto from = [&](grid<T>& x) { return x.data.data() + at; };
          if (r == 3) runs.push_back({nullptr, from(of.g), nullptr, nullptr, counts[r], false, true});
          else
            runs.push_back({from(of.w), from(of.g), from(of.m), from(of.v), counts[r], r % 2 == 0, false,
                            false, r == 2 ? 0.25 : 1});
        }
        return runs;
      };
      update_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 1, 0.271, 0.0588};
      std::vector<double> squares(static_cast<std::size_t>(threads)), want(squares);
      const cpu::update_list<T> list(runs_of(one));
      std::vector<flat_run<T>> parts;
      for (const auto& run : list.all()) parts.push_back({run.gradient, run.count});
      const cpu::flat_list<T> counted(parts);
      const auto noted = cpu_run_foretold(threads, [&](cpu::context& ctx) {
        list.prepare(ctx);
        counted.prepare(ctx);
        const double found = sum_of_squares(ctx, counted);
        squares[static_cast<std::size_t>(ctx.thread)] = found;
        adamw(ctx, list, step, 0.5, found, clip);
      });
      const auto wanted = cpu_run_foretold(threads, [&](cpu::context& ctx) {
        double sum = 0;
        for (const auto& run : runs_of(other)) sum += sum_of_squares(ctx, run.gradient, run.count);
        want[static_cast<std::size_t>(ctx.thread)] = sum;
        update_step own = step;
        if (clip > 0 && std::sqrt(sum) > clip) own.clip_scale = clip / (std::sqrt(sum) + 1e-6);
        for (const auto& run : runs_of(other)) {
          own.rate = step.rate * run.rate;
          own.decay = run.decays ? step.decay : 0;
          if (run.only_clears) zero(ctx, run.gradient, run.count);
          else adamw(ctx, run.weight, run.gradient, run.first, run.second, run.count, own, true);
        }
      });
      CHECK(squares == want);
      CHECK(noted.flops() == wanted.flops());
      CHECK((one.w.data == other.w.data && one.g.data == other.g.data && one.m.data == other.m.data &&
             one.v.data == other.v.data));
      CHECK(one.w.data != kept.w.data);
      // A number that is not finite leaves all as it is.
      one.g = kept.g;
      const buffers before = one;
      T scale = T(9);
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        adamw(ctx, list, step, 0.5, std::numeric_limits<double>::infinity(), clip);
        adamw(ctx, list, step, std::nan(""), 1, clip);
        clamp_to(ctx, &scale, 4, std::nan(""), 1);
      });
      CHECK((one.w.data == before.w.data && one.g.data == before.g.data && one.m.data == before.m.data &&
             one.v.data == before.v.data));
      CHECK(scale == T(9));
      cpu_run_foretold(threads, [&](cpu::context& ctx) { clamp_to(ctx, &scale, 4, 1, 1); });
      CHECK(scale == T(4));
    }
}

TEST_CASE("a number is clamped where it lies") {
  float numbers[] = {5, 4, -9};
  cpu_run_foretold(2, [&](cpu::context& ctx) {
    for (float& each : numbers) clamp_to(ctx, &each, 4.5f);
  });
  CHECK((numbers[0] == 4.5f && numbers[1] == 4 && numbers[2] == -9));
}

}  // namespace motet
