// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/exchange/rows_in_pieces.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include <gpu_members.hpp>

namespace motet {
namespace {

constexpr isize width = 8;

laws::grid<float> some_rows(const laws::grid<float>& of, isize first, isize rows) {
  laws::grid<float> out(rows, width);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) out.at(r, c) = of.at(first + r, c);
  return out;
}

// How far they are off: rows when they are told, and all that came in the end; sums in the order of members
// of rows that are made piece after piece.
laws::deviation pieces_off(motet::cuda::engine& on, microbatch_spread& is, const sequences& whole,
                           isize pieces) {
  is.pieces = pieces;
  isize first = 0;
  for (std::int32_t m = 0; m < is.tensor.member(); ++m) first += is.tensor_rows[static_cast<std::size_t>(m)];
  const isize rows = is.own.rows();
  const auto every = laws::grid<float>(whole.rows(), width).random(1);
  std::vector<laws::grid<float>> partial;
  for (std::int32_t m = 0; m < is.tensor.size(); ++m)
    partial.push_back(laws::grid<float>(whole.rows(), width).random(static_cast<std::uint64_t>(10 + m)));
  const auto residual = laws::grid<float>(rows, width).random(2);
  const laws::on_gpu<float> own(some_rows(every, first, rows)), residual_there(residual),
      from(partial[static_cast<std::size_t>(is.tensor.member())]), all(whole.rows(), width),
      seen(whole.rows(), width), beside(whole.rows(), width), made(whole.rows(), width), sum(rows, width);
  isize told = 0;
  laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
    const auto copy = [&](const laws::on_gpu<float>& a, const laws::on_gpu<float>& b, interval at) {
      if (ctx.measuring()) return;
      convert_rows(ctx, matrix<const float>(a.all()).slice(at.begin, at.size()),
                   b.all().slice(at.begin, at.size()));
    };
    told = 0;
    gather_rows(ctx, matrix<const float>(own.all()), all.all(), [&](const sequences& some, interval at) {
      told += some.rows();
      copy(all, seen, at);
    });
    gather_rows_beside(ctx, matrix<const float>(own.all()), beside.all(), [] {});
    scatter_sum_rows(ctx, made.all(), matrix<const float>(residual_there.all()), sum.all(),
                     [&](const sequences&, interval at) { copy(from, made, at); });
  });
  auto wanted = some_rows(partial[0], first, rows);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) {
      float number = 0;
      for (const auto& each : partial) number += each.at(first + r, c);
      wanted.at(r, c) = number + residual.at(r, c);
    }
  laws::deviation worst;
  worst.add(laws::distance(seen.back(), every), "seen when it was told");
  worst.add(laws::distance(beside.back(), every), "gathered beside");
  worst.add(laws::distance(sum.back(), wanted), "summed");
  if (told != whole.rows()) worst.fail("rows were told " + std::to_string(told));
  return worst;
}

}  // namespace

TEST_CASE("rows are there when they are told, and what is made piece by piece is summed") {
  constexpr isize ragged[] = {0, 3, 3, 4, 11, 11, 13};
  for (const isize members : {2, 3})
    for (const isize pieces : {2, 3, 8})
      for (const sequences& seq :
           {sequences{6, 1, ragged}, sequences{1, 5, nullptr}, sequences{0, 4, nullptr}}) {
        CAPTURE(members);
        CAPTURE(pieces);
        std::mutex mutex;
        laws::deviation worst;
        CHECK_EQ(
            laws::run_gpu_shards(members, 1, false, seq,
                                 [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& at) {
                                   const laws::deviation found = pieces_off(on, is, seq, pieces);
                                   const std::lock_guard lock(mutex);
                                   worst.add(found, "member " + std::to_string(at.tensor_member));
                                 }),
            "");
        CHECK_EQ(worst, 0);
      }
}

}  // namespace motet
