// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/experts/grouping.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {
namespace {

// A choice that depends on nothing but its number; some experts are never chosen, and some choices are
// dropped.
template <class Real>
std::vector<choice<Real>> choices(isize count, isize experts) {
  const random_stream draw(7, "choices");
  std::vector<choice<Real>> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto word = draw.word(i);
    out[i] = {Real(1) / static_cast<Real>(i + 2),
              static_cast<std::uint16_t>(word % static_cast<std::uint64_t>(experts)), word / 7919 % 4 != 0};
    if (out[i].expert % 5 == 3) out[i].expert = 0;
  }
  return out;
}

struct problem {
  isize rows, top_k, experts;
  interval held;  // of the experts
};
const problem problems[] = {{20, 1, 3, {0, 3}},  {1, 1, 1, {0, 1}},      {5, 3, 7, {0, 7}},
                            {300, 3, 7, {2, 5}}, {129, 2, 70, {0, 70}},  {0, 2, 4, {0, 4}},
                            {40, 2, 9, {9, 9}},  {2500, 8, 33, {0, 33}}, {700, 2, 5000, {100, 4000}}};

TEST_CASE("choices are sorted by key, those of one key in their own order") {
  for (const problem& p : problems) {
    CAPTURE(p.rows);
    CAPTURE(p.experts);
    const auto chosen = choices<float>(p.rows * p.top_k, p.experts);
    const laws::flat_on_gpu<choice<float>> there(chosen);
    std::vector<std::int32_t> want;
    std::vector<isize> starts;
    for (isize key = p.held.begin; key < p.held.end; ++key) {
      starts.push_back(static_cast<isize>(want.size()));
      for (std::size_t i = 0; i < chosen.size(); ++i)
        if (chosen[i].kept && chosen[i].expert == key) want.push_back(static_cast<std::int32_t>(i));
    }
    starts.push_back(static_cast<isize>(want.size()));
    const laws::flat_on_gpu<isize> starts_there(static_cast<isize>(starts.size()));
    const laws::flat_on_gpu<std::int32_t> position_there(p.rows * p.top_k), source_there(p.rows * p.top_k);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      grouping by = motet::cuda::detail::take_grouping(ctx, p.held.size(), p.rows, p.top_k, p.rows * p.top_k);
      by.starts = starts_there.data(), by.position.data = position_there.data(),
      by.source = source_there.data();
      motet::cuda::detail::sort_choices(
          ctx, matrix<const choice<float>>{there.data(), p.rows, p.top_k, p.top_k}, p.held.begin, by);
    });
    CHECK(laws::off_by(starts_there.back(), starts) == 0);
    const auto position = position_there.back(), source = source_there.back();
    for (std::size_t i = 0; i < want.size(); ++i) REQUIRE(source[i] == want[i]);
    for (std::size_t i = 0; i < position.size(); ++i) {
      const bool has = chosen[i].kept && chosen[i].expert >= p.held.begin && chosen[i].expert < p.held.end;
      REQUIRE((position[i] >= 0) == has);
      if (has) REQUIRE(want.at(static_cast<std::size_t>(position[i])) == static_cast<std::int32_t>(i));
    }
  }
}

TEST_CASE_TEMPLATE("rows go to their places and come back as sums", X, float, bf16, double) {
  using number = std::conditional_t<sizeof(X) == 8, double, float>;
  for (const isize width : {21, 64})
    for (const problem& p :
         {problem{50, 3, 7, {0, 7}}, problem{20, 1, 3, {0, 3}}, problem{33, 6, 12, {0, 12}}}) {
      const auto chosen = choices<number>(p.rows * p.top_k, p.experts);
      const auto x = laws::grid<X>(p.rows, width, 8).random(1);
      const auto residual = laws::grid<number>(p.rows, width).random(2);
      const laws::flat_on_gpu<choice<number>> there(chosen);
      const laws::on_gpu<X> x_there(x), sorted(p.rows * p.top_k, width);
      const laws::on_gpu<number> residual_there(residual), weighed(p.rows, width, width + 8),
          plain(p.rows, width);
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        grouping by = motet::cuda::detail::take_grouping(ctx, p.experts, p.rows, p.top_k, p.rows * p.top_k);
        motet::cuda::detail::sort_choices(
            ctx, matrix<const choice<number>>{there.data(), p.rows, p.top_k, p.top_k}, 0, by);
        if (ctx.measuring()) return;
        motet::cuda::detail::spread_rows_to(ctx, by, x_there.all(), sorted.all());
        motet::cuda::detail::collect_rows(ctx, by.position.data, p.top_k, sorted.all(), there.data(),
                                          residual_there.all(), weighed.all());
        motet::cuda::detail::collect_rows(ctx, by.position.data, p.top_k, sorted.all(),
                                          static_cast<const choice<number>*>(nullptr), matrix<const number>{},
                                          plain.all());
      });
      laws::grid<number> want(p.rows, width), want_plain(p.rows, width);
      for (isize r = 0; r < p.rows; ++r)
        for (isize c = 0; c < width; ++c) {
          double sum = residual(r, c), count = 0;
          for (isize j = 0; j < p.top_k; ++j)
            if (const auto& one = chosen[static_cast<std::size_t>(r * p.top_k + j)]; one.kept) {
              sum += x(r, c) * static_cast<double>(one.gate);
              count += 1;
            }
          want.at(r, c) = static_cast<number>(sum);
          want_plain.at(r, c) = static_cast<number>(count * x(r, c));
        }
      CHECK_LE(laws::distance(weighed.back(), want), laws::tolerance<number>);
      CHECK_LE(laws::distance(plain.back(), want_plain), laws::tolerance<number>);
      CHECK(weighed.untouched());
    }
}

}  // namespace
}  // namespace motet
