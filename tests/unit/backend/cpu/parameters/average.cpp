// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/parameters/average.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance;

TEST_CASE_TEMPLATE("lion and averages follow their definitions, one by one and in lists", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 5e-7 : 1e-14;
  laws::with_each_kernel([&] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const isize count : {1, 15, 1003})
        for (const double clip : {0.0, 0.3}) {
          auto weight = grid<T>(1, count).random(1), gradient = grid<T>(1, count),
               first = grid<T>(1, count).fill(0);
          auto followed = weight;
          grid<double> w(1, count), m(1, count), e(1, count);
          for (isize c = 0; c < count; ++c) w.at(0, c) = e.at(0, c) = weight(0, c), m.at(0, c) = 0;
          const update_step step{1e-2, 0.9, 0.99, 0, 0.1};
          const auto data = [](grid<T>& of) { return of.data.data(); };
          const cpu::update_list<T> list(
              {{data(weight), data(gradient), data(first), nullptr, count, true, false, false, 0.5}});
          const cpu::average_list<T> averages({{data(weight), data(followed), count}});
          for (int t = 1; t <= 4; ++t) {
            gradient.random(static_cast<std::uint64_t>(t), 2);
            double squares = 0;
            for (isize c = 0; c < count; ++c) squares += gradient(0, c) * gradient(0, c);
            const bool skipped = t == 3;
            const double scale =
                clip > 0 && std::sqrt(squares) > clip ? clip / (std::sqrt(squares) + 1e-6) : 1;
            for (isize c = 0; !skipped && c < count; ++c) {
              const double g = gradient(0, c) * scale, toward = 0.9 * m(0, c) + (1 - 0.9) * g;
              w.at(0, c) -= 0.005 * ((toward > 0 ? 1 : toward < 0 ? -1 : 0) + 0.1 * w(0, c));
              m.at(0, c) = 0.99 * m(0, c) + (1 - 0.99) * g;
              e.at(0, c) = 0.8 * e(0, c) + (1 - 0.8) * w(0, c);
            }
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              const double loss = skipped ? std::nan("") : 1;
              lion(ctx, list, step, loss, squares, clip);
              average(ctx, averages, 0.8, loss, squares);
            });
            CHECK((distance(gradient, grid<T>(1, count).fill(0)) == 0) == !skipped);
          }
          CHECK(distance(weight, w) < tolerance);
          CHECK(distance(first, m) < tolerance);
          CHECK(distance(followed, e) < tolerance);
          CHECK((weight.gaps_intact() && first.gaps_intact() && followed.gaps_intact()));
        }
  });
}

}  // namespace motet
