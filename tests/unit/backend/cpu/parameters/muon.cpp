// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/parameters/muon.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"
#include "../../../../laws/plain_muon.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance;

TEST_CASE_TEMPLATE("muon follows its definition, with clip, decay and skipped steps", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-12;
  for (const auto& [rows, width] : {std::pair<isize, isize>{5, 5}, {3, 40}, {70, 9}, {2, 2}})
    for (int threads = 1; threads <= 3; ++threads) {
      const isize count = rows * width;
      // Two of them, one behind the other.
      auto weight = grid<T>(1, 2 * count).random(1), gradient = grid<T>(1, 2 * count),
           first = grid<T>(1, 2 * count).fill(0);
      std::vector<double> w[2], m[2];
      for (isize c = 0; c < 2 * count; ++c) {
        w[c / count].push_back(weight(0, c));
        m[c / count].push_back(0);
      }
      update_step step{1e-2, 0.9, 0.98, 1e-6, 0.1};
      const matrix_run<T> run{
          weight.data.data(), gradient.data.data(), first.data.data(), rows, width, 2, true, 0.5};
      for (int t = 1; t <= 4; ++t) {
        gradient.random(static_cast<std::uint64_t>(t), 2);
        const double clip = t == 2 ? 0.5 : 0, scale = t == 2 ? 0.5 / (4 + 1e-6) : 1, squares = 16;
        const bool skipped = t == 3;
        for (isize k = 0; !skipped && k < 2; ++k) {
          std::vector<double> g;
          for (isize c = 0; c < count; ++c) g.push_back(scale * gradient(0, k * count + c));
          laws::plain_muon(w[k], g, m[k], rows, width, 0.005, 0.1, step.momentum);
        }
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          muon(ctx, std::span(&run, 1), step, skipped ? std::nan("") : 1.0, squares, clip);
        });
        CHECK((distance(gradient, grid<T>(1, 2 * count).fill(0)) == 0) == !skipped);
      }
      for (isize c = 0; c < 2 * count; ++c) {
        CHECK(std::abs(weight(0, c) - w[c / count][static_cast<std::size_t>(c % count)]) < tolerance);
        CHECK(std::abs(first(0, c) - m[c / count][static_cast<std::size_t>(c % count)]) < 1e-6);
      }
      CHECK((weight.gaps_intact() && gradient.gaps_intact() && first.gaps_intact()));
    }
}

TEST_CASE(
    "what is made orthogonal has singular values near one, and a matrix of zeros moves by decay alone") {
  // Rows of an orthogonal matrix are orthogonal and of one length: the lengths of these lie near one.
  constexpr isize rows = 4, width = 30;
  auto weight = grid<float>(1, rows * width).fill(0), gradient = grid<float>(1, rows * width).random(3),
       first = grid<float>(1, rows * width).fill(0);
  const matrix_run<float> run{weight.data.data(), gradient.data.data(), first.data.data(), rows, width};
  const double far = 0.2 * std::sqrt(30.0);
  cpu_run_foretold(1, [&](cpu::context& ctx) { muon(ctx, std::span(&run, 1), update_step{.rate = 1}); });
  for (isize a = 0; a < rows; ++a)
    for (isize b = 0; b <= a; ++b) {
      double sum = 0;
      for (isize c = 0; c < width; ++c) sum += weight(0, a * width + c) * weight(0, b * width + c);
      CHECK(std::abs(sum / (far * far) - (a == b ? 0.95 : 0)) < 0.55);
    }
  first.fill(0);
  weight.fill(1);
  cpu_run_foretold(
      1, [&](cpu::context& ctx) { muon(ctx, std::span(&run, 1), update_step{.rate = 0.1, .decay = 0.5}); });
  for (isize c = 0; c < rows * width; ++c) CHECK(weight(0, c) == doctest::Approx(0.95));
}

}  // namespace motet
