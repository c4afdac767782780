// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/embedding.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/embedding.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

namespace {

std::vector<std::int32_t> tokens(isize count, std::uint32_t kinds, std::uint64_t seed) {
  const random_stream draw(seed, "tokens");
  std::vector<std::int32_t> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::int32_t>(draw.below(i, kinds));
  return made;
}

template <class N>
void compare(const sequences& seq, isize width, isize gap, std::uint64_t seed) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  const isize rows = seq.rows(), all = 11, first = 4, part = 5;
  const auto ids = tokens(rows, all, seed);
  const auto table = grid<master>(all, width, gap).random(seed + 1);
  const auto dy = grid<value>(rows, width, gap).random(seed + 2);
  auto dtable = grid<master>(all, width, gap).random(seed + 3),
       dpart = grid<master>(part, width, gap).random(seed + 4);
  auto dtoken = grid<master>(1, width).random(seed + 5), dbias = grid<master>(1, width).random(seed + 6);
  const auto token = grid<master>(1, width).random(seed + 7);
  auto x = grid<stream>(rows, width, gap).random(seed + 8),
       put = grid<stream>(rows, width, gap).random(seed + 9);
  // Backwards, and every third row has no place.
  std::vector<std::int32_t> places;
  for (isize r = 0; r < rows; ++r)
    places.push_back(r % 3 == 2 ? -1 : static_cast<std::int32_t>(rows - 1 - r));

  const laws::flat_on_gpu<std::int32_t> gids(ids), gplaces(places);
  const laws::on_gpu<master> gtable(table), gdtable(dtable), gdpart(dpart), gdtoken(dtoken), gdbias(dbias),
      gtoken(token);
  const laws::on_gpu<value> gdy(dy);
  const laws::on_gpu<stream> gx(x), gput(put), y(rows, width, width + gap), cut(rows, width, width + gap);
  const matrix<const master> whole = gtable.all();
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    token_forward(ctx, seq, gids.data(), 0, whole, y.all());
    token_forward(ctx, seq, gids.data(), first, whole.slice(first, part), cut.all());
    token_backward_weight(ctx, gids.data(), 0, gdy.all(), gdtable.all());
    token_backward_weight(ctx, gids.data(), first, gdy.all(), gdpart.all());
    add_rows_at(ctx, seq, gplaces.data(), gdy.all(), gput.all());
    class_token_forward(ctx, seq, gtoken.data(), gx.all());
    class_token_backward_weight(ctx, seq, gdy.all(), gdtoken.data());
    class_token_backward_bias(ctx, seq, gdy.all(), gdbias.data());
  });
  grid<stream> want(rows, width), want_cut(rows, width);
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    if (ctx.measuring()) return;  // what these add to is added to once
    token_forward(ctx, seq, ids.data(), 0, table.view(), want.view());
    token_forward(ctx, seq, ids.data(), first, table.view().slice(first, part), want_cut.view());
    token_backward_weight(ctx, ids.data(), 0, dy.view(), dtable.view());
    token_backward_weight(ctx, ids.data(), first, dy.view(), dpart.view());
    add_rows_at(ctx, seq, places.data(), dy.view(), put.view());
    class_token_forward(ctx, seq, token.data.data(), x.view());
    class_token_backward_weight(ctx, seq, dy.view(), dtoken.data.data());
    class_token_backward_bias(ctx, seq, dy.view(), dbias.data.data());
  });
  CAPTURE(rows);
  CAPTURE(width);
  CHECK(distance(y.back(), want) == 0);
  CHECK(distance(cut.back(), want_cut) == 0);
  CHECK(distance(gdtable.back(), dtable) < tolerance<stream>);
  CHECK(distance(gdpart.back(), dpart) < tolerance<stream>);
  CHECK(distance(gput.back(), put) == 0);
  CHECK(distance(gx.back(), x) == 0);
  CHECK(distance(gdtoken.back(), dtoken) < tolerance<stream>);
  CHECK(distance(gdbias.back(), dbias) < tolerance<stream>);
  for (const auto& left : {y.untouched(), cut.untouched(), gdtable.untouched(), gdpart.untouched(),
                           gput.untouched(), gx.untouched()})
    CHECK(left);
}

}  // namespace

TEST_CASE_TEMPLATE("tokens on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 8, 45, 160})
      for (const isize gap : {0, 8, 3}) compare<N>(seq, width, gap, seed += 9);
  });
  compare<N>({60, 2, nullptr}, 24, 0, seed);
}

}  // namespace motet
