// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/normalize.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/normalize.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

namespace {

template <class N>
void compare(const sequences& seq, isize width, isize gap, std::uint64_t seed) {
  using value = typename N::value;
  using stream = typename N::stream;
  const isize rows = seq.rows();
  auto x = grid<value>(rows, width, gap).random(seed);
  if (rows > 2)
    for (isize c = 0; c < width; ++c) x.at(2, c) = value(0);  // a row without direction
  const auto dy = grid<stream>(rows, width, gap).random(seed + 1);
  const laws::on_gpu<value> gx(x), over(x);
  const laws::on_gpu<stream> y(rows, width, width + gap), lengths(rows, 1, 2), lengths_over(rows, 1), gdy(dy),
      dx(rows, width, width + gap), dx_over(dy);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    normalize_forward(ctx, seq, gx.all(), y.all(), lengths.all());
    normalize_forward(ctx, seq, over.all(), over.all(), lengths_over.all());
    normalize_backward(ctx, seq, y.all(), lengths.all(), gdy.all(), dx.all());
    normalize_backward(ctx, seq, y.all(), lengths.all(), dx_over.all(), dx_over.all());
  });
  grid<stream> want(rows, width), want_lengths(rows, 1), slope(rows, width);
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    normalize_forward(ctx, seq, x.view(), want.view(), want_lengths.view());
    normalize_backward(ctx, seq, want.view(), want_lengths.view(), dy.view(), slope.view());
  });
  CAPTURE(width);
  CHECK(distance(y.back(), want) < tolerance<stream>);
  CHECK(distance(over.back(), want) < tolerance<value>);
  CHECK(distance(lengths.back(), want_lengths) < tolerance<stream>);
  CHECK(distance(dx.back(), slope) < 4 * tolerance<stream>);
  CHECK(distance(dx_over.back(), slope) < 4 * tolerance<stream>);
  for (const auto& left :
       {y.untouched(), over.untouched(), lengths.untouched(), dx.untouched(), dx_over.untouched()})
    CHECK(left);
}

}  // namespace

TEST_CASE_TEMPLATE("directions on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 5, 16, 45, 96, 512})
      compare<N>(seq, width, seed % 2 == 0 ? 8 : 0, seed), seed += 3;
  });
  for (const isize width : {768, 1032, 4097, 12288}) compare<N>({4, 1, nullptr}, width, 0, seed), seed += 3;
}

}  // namespace motet
