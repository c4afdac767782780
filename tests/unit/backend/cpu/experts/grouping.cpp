// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/experts/grouping.hpp>

#include <doctest/doctest.h>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
namespace {
constexpr isize top_k = 3;

// Keys of (row, number); -1: none. Some keys are never used.
isize key_of(isize row, isize number) {
  return (row * 7 + number * 5) % 6 < 4 ? (row * 7 + number * 5) % 6 : -1;
}

struct sorted {
  std::vector<isize> starts;
  std::vector<std::int32_t> position, source;
};
sorted sort(int threads, const sequences& seq) {
  const isize rows = seq.rows();
  sorted out{std::vector<isize>(6), std::vector<std::int32_t>(static_cast<std::size_t>(rows * top_k)), {}};
  laws::cpu_run(threads, 1 << 16, [&](cpu::context& ctx) {
    grouping by = cpu::detail::take_grouping(ctx, 5, rows, top_k, rows * top_k);
    cpu::detail::sort_choices(ctx, rows, ctx.own(seq), by, key_of);
    synchronize(ctx);
    if (ctx.thread != 0) return;
    std::copy_n(by.starts, 6, out.starts.begin());
    std::copy_n(by.position.data, rows * top_k, out.position.begin());
    out.source.assign(by.source, by.source + by.count);
  });
  return out;
}
}  // namespace

TEST_CASE("choices are sorted by key, those of one key in their own order, by any number of threads alike") {
  laws::each_batch([](int threads, const sequences& seq) {
    const sorted got = sort(threads, seq);
    std::vector<std::int32_t> want;
    for (isize key = 0; key < 5; ++key) {
      REQUIRE(got.starts[static_cast<std::size_t>(key)] == static_cast<isize>(want.size()));
      for (isize i = 0; i < seq.rows() * top_k; ++i)
        if (key_of(i / top_k, i % top_k) == key) want.push_back(static_cast<std::int32_t>(i));
    }
    REQUIRE(got.starts[5] == static_cast<isize>(want.size()));
    REQUIRE(got.source == want);
    for (isize i = 0; i < seq.rows() * top_k; ++i) {
      const std::int32_t position = got.position[static_cast<std::size_t>(i)];
      if (key_of(i / top_k, i % top_k) < 0) REQUIRE(position == -1);
      else REQUIRE(got.source.at(static_cast<std::size_t>(position)) == i);
    }
  });
}

TEST_CASE_TEMPLATE("rows go to their places and come back as sums", X, float, bf16, double) {
  laws::each_batch([](int threads, const sequences& seq) {
    const isize rows = seq.rows(), width = 21;
    using number = std::conditional_t<sizeof(X) == 8, double, float>;
    const auto x = laws::grid<X>(rows, width, 1).random(1);
    const auto residual = laws::grid<number>(rows, width).random(2);
    std::vector<choice<number>> gates(static_cast<std::size_t>(rows * top_k));
    for (std::size_t i = 0; i < gates.size(); ++i) gates[i].gate = number(1) / static_cast<number>(i + 2);
    laws::grid<number> weighed(rows, width, 1), plain(rows, width), want(rows, width),
        want_plain(rows, width);
    laws::grid<X> sorted(rows * top_k, width);
    laws::cpu_run(threads, 1 << 16, [&](cpu::context& ctx) {
      grouping by = cpu::detail::take_grouping(ctx, 5, rows, top_k, rows * top_k);
      cpu::detail::sort_choices(ctx, rows, ctx.own(seq), by, key_of);
      synchronize(ctx);
      cpu::detail::spread_rows_to(by, ctx.own(by.each()), x.view(), sorted.view());
      synchronize(ctx);
      cpu::detail::collect_rows(ctx, by, ctx.own(seq), sorted.view(), gates.data(), residual.view(),
                                weighed.view());
      cpu::detail::collect_rows(ctx, by, ctx.own(seq), sorted.view(),
                                static_cast<const choice<number>*>(nullptr), matrix<const number>{},
                                plain.view());
    });
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c) {
        double sum = residual(r, c), count = 0;
        for (isize j = 0; j < top_k; ++j)
          if (key_of(r, j) >= 0) {
            sum += x(r, c) * static_cast<double>(gates[static_cast<std::size_t>(r * top_k + j)].gate);
            count += 1;
          }
        want.at(r, c) = static_cast<number>(sum);
        want_plain.at(r, c) = static_cast<number>(count * x(r, c));
      }
    CHECK_LE(laws::distance(weighed, want), laws::tolerance<number>);
    CHECK_LE(laws::distance(plain, want_plain), laws::tolerance<number>);
    CHECK(weighed.gaps_intact());
  });
}

}  // namespace motet
