// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/each_run.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance;

namespace {

struct halved {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T x) const {
    return x / 2;
  }
};
struct product {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};
// Counts how often each number is visited, and skips odd rows.
struct visit {
  template <int N>
  struct held {};
  matrix<float> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize, held<N>&) const {
    return row % 2 == 0;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>&) const {
    for (int i = 0; i < N; ++i) y.row(row)[column + i] += 1;
  }
};

}  // namespace

TEST_CASE("every run is visited once, in whole runs or one by one") {
  std::uint64_t seed = 1;
  for (const isize rows : {0, 1, 3, 70})
    for (const isize width : {1, 7, 8, 64, 300})
      for (const isize gap : {0, 8, 1}) {
        const laws::on_gpu<float> y(grid<float>(rows, width, gap).fill(0));
        const auto a = grid<bf16>(rows, width, gap).random(++seed);
        const auto b = grid<float>(rows, width, gap).random(++seed);
        const laws::on_gpu<bf16> ga(a), over(a);
        const laws::on_gpu<float> gb(b), half(rows, width, width + gap), both(rows, width, width + gap);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
          if (ctx.measuring()) return;
          motet::cuda::for_each_run<4>(ctx, visit{y.all()}, rows, width, motet::cuda::in_runs<4>(y.all()));
          motet::cuda::map_numbers(ctx, ga.all(), half.all(), halved{});
          motet::cuda::map_numbers(ctx, over.all(), over.all(), halved{});
          motet::cuda::map_numbers(ctx, ga.all(), gb.all(), both.all(), product{});
        });
        grid<float> visits(rows, width), want_half(rows, width), want_both(rows, width);
        for (isize r = 0; r < rows; ++r)
          for (isize c = 0; c < width; ++c) {
            visits.at(r, c) = r % 2 == 0 ? 1 : 0;
            want_half.at(r, c) = static_cast<float>(a.at(r, c)) / 2;
            want_both.at(r, c) = static_cast<float>(a.at(r, c)) * b.at(r, c);
          }
        CHECK(distance(y.back(), visits) == 0);
        CHECK(distance(half.back(), want_half) == 0);
        CHECK(distance(over.back(), want_half) == 0);
        CHECK(distance(both.back(), want_both) == 0);
        for (const auto& left : {y.untouched(), half.untouched(), over.untouched(), both.untouched()})
          CHECK(left);
      }
}

TEST_CASE("more runs than a grid has threads: blocks go around") {
  const laws::on_gpu<float> y(grid<float>(2, 1 << 10).fill(0));
  const motet::cuda::detail::each_run<1, visit> kernel{{y.all()}, 0, 2, motet::cuda::divisor(1 << 10)};
  motet::cuda::launch(laws::gpu().stream(), {1, 64, 0}, kernel);
  laws::gpu().finish();
  grid<float> want(2, 1 << 10);
  for (isize c = 0; c < want.width; ++c) want.at(0, c) = 1, want.at(1, c) = 0;
  CHECK(distance(y.back(), want) == 0);
}

}  // namespace motet
