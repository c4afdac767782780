// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/position.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/position.hpp>

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
  using master = typename N::master;
  const isize rows = seq.rows();
  const auto table = grid<master>(12, width, gap).random(seed);
  auto x = grid<stream>(rows, width, gap).random(seed + 1);
  const auto dy = grid<value>(rows, width, gap).random(seed + 2);
  auto dtable = grid<master>(12, width, gap).random(seed + 3);
  const laws::on_gpu<master> gtable(table), gdtable(dtable);
  const laws::on_gpu<stream> gx(x);
  const laws::on_gpu<value> gdy(dy);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    position_forward(ctx, seq, gtable.all(), gx.all());
    position_backward_weight(ctx, seq, gdy.all(), gdtable.all());
  });
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    position_forward(ctx, seq, table.view(), x.view());
    position_backward_weight(ctx, seq, dy.view(), dtable.view());
  });
  CAPTURE(width);
  CHECK(distance(gx.back(), x) == 0);
  CHECK(distance(gdtable.back(), dtable) < tolerance<stream>);
  CHECK(gx.untouched());
  CHECK(gdtable.untouched());
}

}  // namespace

TEST_CASE_TEMPLATE("positions on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 8, 45, 160})
      for (const isize gap : {0, 3, 8}) compare<N>(seq, width, gap, seed += 4);
  });
}

TEST_CASE("tables of many samples, which are summed in chunks") {
  compare<fp32>({150, 2, nullptr}, 36, 0, 50);
  compare<mixed_bf16>({200, 1, nullptr}, 264, 8, 60);
}

}  // namespace motet
