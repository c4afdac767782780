// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/exchange/tensor_rows.hpp>
#include <motet/backend/exchange/spread_rows.hpp>

#include "cpu_run.hpp"
#include "grid.hpp"

namespace motet::laws {

// Counts the numbers that are wrong after rows met in a group, whose members all call this. Members may own
// no row, rows have a stride, and sums are taken in the order of members, so results are known to the bit.
template <class From, class To>
isize wrong_rows(const any_group& group, const sequences& whole, isize width, int threads = 1) {
  spread_rows places({.tensor = group.size(), .tensor_member = group.member()}, whole.samples);
  microbatch_spread shared;
  places.fill(whole, shared);
  shared.tensor = group;
  const interval samples = share(whole.samples, group.size(), group.member());
  const isize first = whole.begin(samples.begin), rows = shared.own.rows();

  const auto every = grid<From>(whole.rows(), width).random(1);
  grid<From> own(rows, width, 3);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) own.at(r, c) = every.at(first + r, c);
  grid<To> all(whole.rows(), width);
  std::vector<grid<To>> partial;
  for (std::int32_t m = 0; m < group.size(); ++m)
    partial.push_back(grid<To>(whole.rows(), width).random(static_cast<std::uint64_t>(10 + m)));
  const auto residual = grid<From>(rows, width, 2).random(2);
  grid<To> sum(rows, width, 1);
  grid<To> bare(rows, width);
  auto first_use = partial[static_cast<std::size_t>(group.member())], second_use = first_use;
  cpu_run_foretold(threads, [&](cpu::context& ctx) {
    ctx.shared = &shared;
    gather_rows(ctx, own.view(), all.view());
    scatter_sum_rows(ctx, first_use.view(), residual.view(), sum.view());
    scatter_sum_rows(ctx, second_use.view(), matrix<const To>{}, bare.view());
  });

  using number = std::conditional_t<sizeof(To) == 8, double, float>;
  isize wrong = all.gaps_intact() && sum.gaps_intact() && bare.gaps_intact() ? 0 : 1;
  for (isize r = 0; r < whole.rows(); ++r)
    for (isize c = 0; c < width; ++c)
      wrong += all(r, c) != static_cast<double>(To(static_cast<number>(every.at(r, c)))) ? 1 : 0;
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) {
      number want = 0;
      for (const auto& each : partial) want += static_cast<number>(each.at(first + r, c));
      const To rounded(want);
      wrong += bare(r, c) != static_cast<double>(rounded) ? 1 : 0;
      wrong += sum(r, c) != static_cast<double>(
                                To(static_cast<number>(rounded) + static_cast<number>(residual.at(r, c))))
                   ? 1
                   : 0;
    }
  return wrong;
}

// Ragged, even, fewer samples than members, none.
inline isize wrong_rows_of_all_kinds(const any_group& group, int threads = 1) {
  constexpr isize ragged[] = {0, 3, 3, 4, 11, 11, 13};
  isize wrong = 0;
  for (const sequences& seq : {sequences{6, 1, ragged}, sequences{7, 2, nullptr}, sequences{1, 5, nullptr},
                               sequences{0, 4, nullptr}}) {
    wrong += wrong_rows<float, float>(group, seq, 7, threads);
    wrong += wrong_rows<double, double>(group, seq, 33, threads);
    wrong += wrong_rows<float, bf16>(group, seq, 16, threads);
    wrong += wrong_rows<bf16, float>(group, seq, 5, threads);
  }
  return wrong;
}

}  // namespace motet::laws
