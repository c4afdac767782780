// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/rotary.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/attention/rotary.hpp>

#include "cpu_run.hpp"
#include "cuda_run.hpp"
#include "op_cases.hpp"

#include <cmath>
#include <vector>

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

template <class Body>
void each_gpu_batch(Body&& body) {
  const std::vector<std::vector<isize>> ragged{
      {0, 3, 3, 4, 11, 11}, {0, 0, 7}, {0, 1, 2, 3, 9, 14, 14, 14, 20, 23}};
  for (const sequences& even : {sequences{0, 5, nullptr}, sequences{1, 1, nullptr}, sequences{5, 4, nullptr}})
    body(even);
  for (const auto& offsets : ragged)
    body(sequences{static_cast<isize>(offsets.size()) - 1, 1, offsets.data()});
}

TEST_CASE_TEMPLATE("rotary positions against plain loops, and back", T, float, bf16, double) {
  each_gpu_batch([](const sequences& seq) {
    for (const isize head_width : {2, 6, 32, 64})
      for (const isize heads : {1, 3, 6})
        for (const isize gap : {3, 16}) {
          const auto before = grid<T>(seq.rows(), heads * head_width, gap).random(1);
          laws::on_gpu<T> x(before);
          grid<double> want(seq.rows(), heads * head_width);
          for (isize s = 0; s < seq.samples; ++s)
            for (isize r = seq.begin(s); r < seq.end(s); ++r)
              for (isize h = 0; h < heads; ++h)
                for (isize i = 0; i < head_width / 2; ++i) {
                  const double angle =
                      static_cast<double>(r - seq.begin(s)) *
                      std::pow(1e4, -2.0 * static_cast<double>(i) / static_cast<double>(head_width));
                  const isize low = h * head_width + i, high = low + head_width / 2;
                  want.at(r, low) = before(r, low) * std::cos(angle) - before(r, high) * std::sin(angle);
                  want.at(r, high) = before(r, high) * std::cos(angle) + before(r, low) * std::sin(angle);
                }
          laws::gpu_run_foretold(
              [&](motet::cuda::context& ctx) { rotary(ctx, seq, head_width, 1e4, 1, x.all()); });
          CHECK(distance(x.back(), want) < tolerance<T>);
          laws::gpu_run_foretold(
              [&](motet::cuda::context& ctx) { rotary(ctx, seq, head_width, 1e4, -1, x.all()); });
          CHECK(distance(x.back(), before) < 2 * tolerance<T>);
          CHECK(x.untouched());
        }
  });
}

TEST_CASE("slowed turns are those of processors") {
  const isize length = 9, width = 16;
  auto want = grid<float>(length, width).random(3);
  laws::on_gpu<float> x(want);
  const rotary_angles slowed(1e4, 8, 1, 4, 64);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    rotary(ctx, {1, length, nullptr}, width, slowed, 1, x.all());
  });
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    rotary(ctx, {1, length, nullptr}, width, slowed, 1, want.view());
  });
  CHECK(distance(x.back(), want) < tolerance<float>);
}

TEST_CASE("positions stay exact over a long sample") {
  const isize length = 20000, width = 8;
  laws::on_gpu<double> x(grid<double>(length, width).fill(1));
  laws::on_gpu<float> single(grid<float>(length, width).fill(1));
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    rotary(ctx, {1, length, nullptr}, width, 5e5, 1, x.all());
    rotary(ctx, {1, length, nullptr}, width, 5e5, 1, single.all());
  });
  const auto found = x.back();
  const auto narrow = single.back();
  laws::deviation worst, worst_single;
  for (isize r = 0; r < length; ++r)
    for (isize i = 0; i < width / 2; ++i) {
      const double angle =
          static_cast<double>(r) * std::pow(5e5, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      worst.add_off(found(r, i), std::cos(angle) - std::sin(angle), laws::in_matrix(r, i));
      worst_single.add_off(narrow(r, i), std::cos(angle) - std::sin(angle), laws::in_matrix(r, i));
    }
  CHECK(worst < 1e-10);
  CHECK(worst_single < 1e-6);
}

}  // namespace motet
