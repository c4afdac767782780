// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/row_moves.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {
namespace {

struct shape {
  isize rows, width, gap;
};
const shape shapes[] = {{1, 1, 0}, {7, 24, 8}, {5, 33, 2}, {300, 8, 0}, {3, 4096, 8}, {0, 5, 0}};

template <class X, class Y>
void check_moves() {
  using number = std::conditional_t<sizeof(X) == 8 || sizeof(Y) == 8, double, float>;
  for (const shape& s : shapes) {
    CAPTURE(s.rows);
    CAPTURE(s.width);
    const auto x = laws::grid<X>(s.rows, s.width, s.gap).random(1),
               z = laws::grid<X>(s.rows, s.width).random(2);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(s.rows));
    for (std::size_t r = 0; r < positions.size(); ++r)
      positions[r] =
          r % 5 == 4 ? -1 : static_cast<std::int32_t>((s.rows - 1 - static_cast<isize>(r)) * 2 + 1);
    const laws::flat_on_gpu<std::int32_t> positions_there(positions);
    const std::vector<isize> few{s.rows / 2};
    const laws::flat_on_gpu<isize> few_there(few);
    const laws::on_gpu<X> from(x), other(z);
    const laws::on_gpu<Y> to(s.rows, s.width, s.width + s.gap), sum(s.rows, s.width, s.width + s.gap);
    const auto blank = laws::grid<Y>(s.rows, s.width, s.gap).fill(-5);
    const laws::on_gpu<Y> gathered(blank), scattered(blank);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      if (ctx.measuring()) return;
      motet::cuda::convert_rows(ctx, matrix<const X>(from.all()), to.all());
      motet::cuda::sum_rows(ctx, matrix<const X>(from.all()), other.all(), sum.all());
      motet::cuda::map_rows(ctx, false, s.rows, positions_there.data(), 2, nullptr, from.all(),
                            gathered.all());
      motet::cuda::map_rows(ctx, true, s.rows, positions_there.data(), 2, few_there.data(), from.all(),
                            scattered.all());
    });
    const auto found = to.back(), sums = sum.back(), picked = gathered.back(), put = scattered.back();
    CHECK(
        laws::all_intact({found.gaps_intact(), sums.gaps_intact(), picked.gaps_intact(), put.gaps_intact()}));
    auto want_picked = blank, want_put = blank, want_found = blank, want_sums = blank;
    for (isize r = 0; r < s.rows; ++r)
      for (isize c = 0; c < s.width; ++c) {
        const auto position = positions[static_cast<std::size_t>(r)];
        if (position >= 0) want_picked.at(r, c) = Y(static_cast<number>(x.at(position / 2, c)));
        if (position >= 0 && r < s.rows / 2)
          want_put.at(position / 2, c) = Y(static_cast<number>(x.at(r, c)));
        want_found.at(r, c) = Y(static_cast<number>(x.at(r, c)));
        want_sums.at(r, c) = Y(static_cast<number>(x.at(r, c)) + static_cast<number>(z.at(r, c)));
      }
    CHECK(laws::distance(found, want_found) == 0);
    CHECK(laws::distance(sums, want_sums) == 0);
    CHECK(laws::distance(picked, want_picked) == 0);
    CHECK(laws::distance(put, want_put) == 0);
  }
}

TEST_CASE("rows are copied, converted, added, and change places") {
  check_moves<float, float>();
  check_moves<bf16, float>();
  check_moves<float, bf16>();
  check_moves<bf16, bf16>();
  check_moves<double, double>();
}

TEST_CASE("in place") {
  const auto x = laws::grid<float>(9, 20, 4).random(1), y = laws::grid<float>(9, 20).random(2);
  const laws::on_gpu<float> a(x), b(y);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return;
    motet::cuda::sum_rows(ctx, a.all(), b.all(), a.all());
    motet::cuda::convert_rows(ctx, a.all(), a.all());
  });
  auto want = x;
  for (isize r = 0; r < 9; ++r)
    for (isize c = 0; c < 20; ++c) want.at(r, c) += y.at(r, c);
  CHECK(laws::distance(a.back(), want) == 0);
}

}  // namespace
}  // namespace motet
