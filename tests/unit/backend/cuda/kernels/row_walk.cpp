// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/row_walk.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance;

namespace {

// y = x less the mean of its row, which is two passes over a row; y may be the memory of x.
template <int N, int Runs, bool Block, class X>
struct centre_rows {
  matrix<X> x, y;
  matrix<float> sums;  // (rows, 2): of numbers and of squares
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    float* const scratch = self.template shared<float>(Block ? 2 * motet::cuda::warp_size : 0);
    motet::cuda::for_rows<N, Runs, Block>(self, x.rows, x.width, [&](isize r, const auto& part) {
      const motet::cuda::held_row<float, N, Runs, X> row(part, x.row(r));
      float both[2] = {};
      part.each([&](int k, isize column) {
        const auto v = row.at(k, column);
        for (int i = 0; i < N; ++i) both[0] += v.of[i], both[1] += v.of[i] * v.of[i];
      });
      motet::cuda::row_sums<Block>(self, both, scratch);
      part.each([&](int k, isize column) {
        auto v = row.at(k, column);
        for (int i = 0; i < N; ++i) v.of[i] -= both[0] / static_cast<float>(x.width);
        motet::cuda::store_run(y.row(r) + column, v);
      });
      if (part.me == 0)
        for (int s = 0; s < 2; ++s) sums.row(r)[s] = both[s];
    });
  }
};

template <class X>
void centred(isize rows, isize width, isize gap, std::uint64_t seed) {
  const auto x = grid<X>(rows, width, gap).random(seed, 1, 0.5);
  const laws::on_gpu<X> there(x);
  const laws::on_gpu<float> sums(rows, 2);
  constexpr int size = motet::cuda::run_size<X>;
  motet::cuda::for_row_shape<size, float>(
      rows, width, motet::cuda::in_runs<size>(there.all()), 2, [&](auto shape) {
        using s = decltype(shape);
        motet::cuda::launch(laws::gpu().stream(), shape.over,
                            centre_rows<s::size, s::runs, s::block, X>{there.all(), there.all(), sums.all()});
      });
  laws::gpu().finish();
  grid<double> want(rows, width), want_sums(rows, 2);
  for (isize r = 0; r < rows; ++r) {
    want_sums.at(r, 0) = want_sums.at(r, 1) = 0;
    for (isize c = 0; c < width; ++c) want_sums.at(r, 0) += x(r, c), want_sums.at(r, 1) += x(r, c) * x(r, c);
    for (isize c = 0; c < width; ++c) want.at(r, c) = x(r, c) - want_sums(r, 0) / static_cast<double>(width);
  }
  CAPTURE(width);
  CHECK(distance(there.back(), want) < (sizeof(X) == 2 ? 1e-2 : 1e-5));
  CHECK(distance(sums.back(), want_sums) < 1e-4);
  CHECK(there.untouched());
}

}  // namespace

TEST_CASE_TEMPLATE("a row is read before it is written, whoever has it", X, float, bf16) {
  std::uint64_t seed = 1;
  for (const isize rows : {0, 1, 9, 30})
    for (const isize width : {1, 7, 8, 33, 256, 511, 512, 513})
      centred<X>(rows, width, rows == 9 ? 8 : 0, ++seed);
  for (const isize width : {600, 1000, 1024, 1027, 1032, 4104, 8192, 8200, 20000})
    centred<X>(2, width, 0, ++seed);
}

}  // namespace motet
