// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/exchange/tensor_rows.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include <gpu_members.hpp>

namespace motet {
namespace {

// As laws::wrong_rows, on the GPU: how far they are off. Sums are taken in the order of members, so results
// are known to the bit.
template <class From, class To>
laws::deviation rows_off(motet::cuda::engine& on, const microbatch_spread& is, const sequences& whole,
                         isize width) {
  const std::int32_t members = is.tensor.size(), me = is.tensor.member();
  const isize first = whole.begin(share(whole.samples, members, me).begin), rows = is.own.rows();
  const auto every = laws::grid<From>(whole.rows(), width).random(1);
  laws::grid<From> own(rows, width, 3);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) own.at(r, c) = every.at(first + r, c);
  std::vector<laws::grid<To>> partial;
  for (std::int32_t m = 0; m < members; ++m)
    partial.push_back(laws::grid<To>(whole.rows(), width).random(static_cast<std::uint64_t>(10 + m)));
  const auto residual = laws::grid<From>(rows, width, 2).random(2);
  const laws::on_gpu<From> own_there(own), residual_there(residual);
  const auto& mine = partial[static_cast<std::size_t>(me)];
  const laws::on_gpu<To> first_use(mine), second_use(mine), all_there(whole.rows(), width),
      sum_there(rows, width, width + 1), bare_there(rows, width);
  laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
    gather_rows(ctx, matrix<const From>(own_there.all()), all_there.all());
    scatter_sum_rows(ctx, first_use.all(), matrix<const From>(residual_there.all()), sum_there.all());
    scatter_sum_rows(ctx, second_use.all(), matrix<const To>{}, bare_there.all());
  });
  const auto all = all_there.back(), sum = sum_there.back(), bare = bare_there.back();

  using number = std::conditional_t<sizeof(To) == 8, double, float>;
  laws::grid<double> want_all(whole.rows(), width), want_bare(rows, width), want_sum(rows, width);
  for (isize r = 0; r < whole.rows(); ++r)
    for (isize c = 0; c < width; ++c)
      want_all.at(r, c) = static_cast<double>(To(static_cast<number>(every.at(r, c))));
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) {
      number want = 0;
      for (const auto& each : partial) want += static_cast<number>(each.at(first + r, c));
      const To rounded(want);
      want_bare.at(r, c) = static_cast<double>(rounded);
      want_sum.at(r, c) =
          static_cast<double>(To(static_cast<number>(rounded) + static_cast<number>(residual.at(r, c))));
    }
  laws::deviation worst;
  worst.add(laws::distance(all, want_all), "gathered");
  worst.add(laws::distance(bare, want_bare), "summed");
  worst.add(laws::distance(sum, want_sum), "summed, with the residual");
  if (const laws::intact gaps = laws::all_intact({all.gaps_intact(), sum.gaps_intact(), bare.gaps_intact()});
      !gaps)
    worst.fail(gaps.broken);
  return worst;
}

// A microbatch on so many members; how far the worst is off.
template <class Body>
laws::deviation off_on(isize members, const sequences& whole, Body&& body) {
  std::mutex mutex;
  laws::deviation worst;
  CHECK_EQ(laws::run_gpu_shards(members, 1, false, whole,
                                [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& at) {
                                  const laws::deviation found = body(on, is);
                                  const std::lock_guard lock(mutex);
                                  worst.add(found, "member " + std::to_string(at.tensor_member));
                                }),
           "");
  return worst;
}

}  // namespace

TEST_CASE("rows of all members are gathered, and sums go back to their owners") {
  constexpr isize ragged[] = {0, 3, 3, 4, 11, 11, 13};
  for (const isize members : {1, 2, 3, 4})
    for (const sequences& seq : {sequences{6, 1, ragged}, sequences{7, 2, nullptr}, sequences{1, 5, nullptr},
                                 sequences{0, 4, nullptr}}) {
      CAPTURE(members);
      CHECK_EQ(off_on(members, seq,
                      [&](motet::cuda::engine& on, microbatch_spread& is) {
                        return rows_off<float, float>(on, is, seq, 8);
                      }),
               0);
      CHECK_EQ(off_on(members, seq,
                      [&](motet::cuda::engine& on, microbatch_spread& is) {
                        return rows_off<double, double>(on, is, seq, 33);
                      }),
               0);
      CHECK_EQ(off_on(members, seq,
                      [&](motet::cuda::engine& on, microbatch_spread& is) {
                        return rows_off<float, bf16>(on, is, seq, 16);
                      }),
               0);
      CHECK_EQ(off_on(members, seq,
                      [&](motet::cuda::engine& on, microbatch_spread& is) {
                        return rows_off<bf16, float>(on, is, seq, 5);
                      }),
               0);
    }
}

TEST_CASE("ids of tokens are gathered as they are") {
  const std::vector<std::int32_t> ids = {1 << 30, 7, -1, (1 << 30) + 1, 5};
  constexpr isize offsets[] = {0, 2, 2, 5};
  const laws::deviation found =
      off_on(3, {3, 1, offsets}, [&](motet::cuda::engine& on, microbatch_spread& is) {
        const laws::flat_on_gpu<std::int32_t> from(ids), to(5);
        const isize first = offsets[is.tensor.member()];
        laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
          gather_rows(ctx, matrix<const std::int32_t>{from.data() + first, is.own.rows(), 1, 1},
                      matrix<std::int32_t>{to.data(), 5, 1, 1});
        });
        return laws::off_by(to.back(), ids);
      });
  CHECK_EQ(found, 0);
}

TEST_CASE("rows of all are those of the context's spread, and without one there are none") {
  microbatch_spread shared;
  shared.part = {3, 4, nullptr};
  motet::cuda::context ctx;
  CHECK_THROWS_WITH_AS(rows_of_all(ctx), doctest::Contains("MT-B05"), error);
  ctx.shared = &shared;
  CHECK_EQ(rows_of_all(ctx).rows(), 12);
}

}  // namespace motet
