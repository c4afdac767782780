// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/pair_tiles.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

#include <numeric>

namespace motet {
using laws::gpu_run_foretold, laws::grid, laws::on_gpu;

namespace {

// Makes the products of a panel, in place of gradients.
template <class S>
struct plain_products {
  static constexpr int most_threads = motet::cuda::detail::pair_threads;
  motet::cuda::detail::pair_block<S> of;
  motet::cuda::detail::pair_panel<S> panel;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize i = of.tile_row(self.block()) * motet::cuda::detail::pair_tile,
                j = of.tile_column(self.block()) * motet::cuda::detail::pair_tile;
    const auto sums =
        motet::cuda::detail::pair_product<false, false>(self, of.rows, i, of.columns, j, of.rows.width);
    const motet::cuda::detail::pair_position at(self);
    for (int r = 0; r < motet::cuda::detail::pair_rows_each; ++r)
      panel.store(i + at.row + r, j + at.column, sums.of[r]);
  }
};
// Tells which column each row matches.
template <class S>
struct tell_matches {
  motet::cuda::detail::pair_block<S> of;
  isize* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.number(); r < of.rows.count; r += self.all()) to[r] = of.match(r);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("rows against columns in many pieces, and the products of what they became with both", S,
                   float, double) {
  for (const isize width : {1, 4, 20, 70})
    for (const isize gap : {0, 3, 4}) {
      CAPTURE(width);
      constexpr isize count = 70, first = 5;
      const auto rows = grid<S>(count, width, gap).random(1);
      std::vector<on_gpu<S>> there;
      std::vector<matrix<const S>> pieces;
      std::vector<std::vector<double>> columns;
      // 40 pieces, more than one launch lists, some of them empty.
      for (isize p = 0; p < 40; ++p) {
        const auto piece =
            grid<S>(p % 5 == 2 ? 0 : 1 + p % 3, width, gap).random(static_cast<std::uint64_t>(10 + p));
        there.emplace_back(piece);
        pieces.push_back(there.back().all());
        for (isize r = 0; r < piece.rows; ++r) {
          columns.emplace_back();
          for (isize c = 0; c < width; ++c) columns.back().push_back(piece(r, c));
        }
      }
      const isize all = static_cast<isize>(columns.size());
      std::vector<isize> matches(count);
      std::iota(matches.begin(), matches.end(), 3);
      const on_gpu<S> on_rows(rows), d_rows(grid<S>(count, width, gap).fill(1)),
          d_columns(grid<S>(all, width, gap).fill(2));
      const laws::flat_on_gpu<isize> told(count);
      gpu_run_foretold([&](motet::cuda::context& ctx) {
        const motet::cuda::scratch_scope scope(ctx);
        const pair_part<S> part{on_rows.all(), matches.data(), pieces, all + first, first};
        const motet::cuda::detail::pair_panel<S> panel(ctx, count, all + first);
        const auto of = motet::cuda::detail::block_of(ctx, part);
        if (ctx.measuring()) return;
        CHECK(of.columns.count == all);
        motet::cuda::launch(
            ctx.stream(), {of.blocks(), motet::cuda::detail::pair_threads, motet::cuda::detail::pair_room<S>},
            plain_products<S>{of, panel});
        motet::cuda::detail::add_slopes(ctx, panel, of, d_rows.all(), d_columns.all());
        motet::cuda::launch(ctx.stream(), {1, 32, 0}, tell_matches<S>{of, told.data()});
      });
      const auto matched = told.back();
      const auto got_rows = d_rows.back(), got_columns = d_columns.back();
      laws::deviation worst;
      std::vector<double> want_columns(static_cast<std::size_t>(all * width), 2.0);
      for (isize r = 0; r < count; ++r) {
        CHECK(matched[static_cast<std::size_t>(r)] == r + 3 - first);
        std::vector<double> want(static_cast<std::size_t>(width), 1.0);
        for (isize j = 0; j < all; ++j) {
          double product = 0;
          for (isize c = 0; c < width; ++c)
            product += rows(r, c) * columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)];
          for (isize c = 0; c < width; ++c) {
            want[static_cast<std::size_t>(c)] +=
                product * columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)];
            want_columns[static_cast<std::size_t>(j * width + c)] += product * rows(r, c);
          }
        }
        for (isize c = 0; c < width; ++c)
          worst.add_off(got_rows(r, c), want[static_cast<std::size_t>(c)], laws::in_matrix(r, c));
      }
      for (isize j = 0; j < all; ++j)
        for (isize c = 0; c < width; ++c)
          worst.add_off(got_columns(j, c), want_columns[static_cast<std::size_t>(j * width + c)],
                        laws::in_matrix(j, c));
      CHECK(worst < (sizeof(S) == 4 ? 2e-4 : 1e-11));
      CHECK(laws::all_intact({got_rows.gaps_intact(), got_columns.gaps_intact()}));
    }
}

}  // namespace motet
