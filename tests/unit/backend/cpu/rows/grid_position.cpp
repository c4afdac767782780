// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/grid_position.hpp>
#include <motet/backend/cpu/rows/position.hpp>
#include <motet/backend/cpu/rows/sine_position.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

namespace {

// Pictures of unlike grids, one of the table's own, strips one patch high and one wide, and rows of each.
struct shapes {
  std::vector<packed_picture> each;
  std::vector<isize> offsets{0};
  explicit shapes(isize lead, std::vector<std::pair<int, int>> grids) {
    for (const auto& [rows, columns] : grids) {
      packed_picture one;
      one.rows = rows;
      one.columns = columns;
      each.push_back(one);
      offsets.push_back(offsets.back() + lead + rows * columns);
    }
  }
  sequences seq() const { return {static_cast<isize>(each.size()), 0, offsets.data()}; }
};
const std::vector<std::pair<int, int>> unlike{{2, 5}, {3, 3}, {1, 7}, {6, 1}, {1, 1}};

}  // namespace

// Plain loops over both grids: what the point (row, column) of a picture takes of each of the table's.
TEST_CASE_TEMPLATE("learned positions at the grid of each picture, and their gradient", T, float, double) {
  for (const int threads : {1, 3})
    for (const isize lead : {0, 1})
      for (const isize side : {1, 3, 4}) {
        const isize width = 5, from = lead + side * side;
        const shapes of(lead, unlike);
        const sequences seq = of.seq();
        const auto table = grid<T>(from, width, 2).random(1), dy = grid<T>(seq.rows(), width, 1).random(2),
                   before = grid<T>(from, width, 3).random(3), x = grid<T>(seq.rows(), width, 1).random(4);
        auto y = x;
        auto d_table = before;
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          cpu::grid_position_forward(ctx, seq, {lead, side}, of.each.data(), table.view(), y.view());
          cpu::grid_position_backward_weight(ctx, seq, {lead, side}, of.each.data(), dy.view(),
                                             d_table.view());
        });
        auto want = grid<double>(seq.rows(), width), want_d = grid<double>(from, width);
        for (isize c = 0; c < width; ++c) {
          for (isize r = 0; r < from; ++r) want_d.at(r, c) = before(r, c);
          for (isize s = 0; s < seq.samples; ++s) {
            const packed_picture& own = of.each[as_size(s)];
            const isize first = seq.begin(s);
            for (isize r = 0; r < seq.rows_of(s); ++r) want.at(first + r, c) = x(first + r, c);
            for (isize r = 0; r < lead; ++r)
              want.at(first + r, c) += table(r, c), want_d.at(r, c) += dy(first + r, c);
            for (isize i = 0; i < own.rows; ++i)
              for (isize j = 0; j < own.columns; ++j)
                for (int a = 0; a < 4; ++a)
                  for (int b = 0; b < 4; ++b) {
                    const auto down = cubic_axis{side, own.rows}.of(i),
                               right = cubic_axis{side, own.columns}.of(j);
                    const isize here = first + lead + i * own.columns + j,
                                there = lead + down.at[a] * side + right.at[b];
                    const double weight = down.weight[a] * right.weight[b];
                    want.at(here, c) += weight * table(there, c);
                    want_d.at(there, c) += weight * dy(here, c);
                  }
          }
        }
        CHECK(distance(y, want) < tolerance<T>);
        CHECK(distance(d_table, want_d) < tolerance<T>);
        CHECK((y.gaps_intact() && d_table.gaps_intact()));
      }
}

TEST_CASE("a picture of the table's own grid, and the sines of a square, are what squares get, bit for bit") {
  const shapes of(1, {{3, 3}, {3, 3}});
  const sequences ragged = of.seq(), even{2, 10, nullptr};
  const auto table = grid<float>(10, 8).random(1);
  auto x = grid<float>(20, 8, 1).random(2), y = x, sines = x, own_sines = x;
  cpu_run_foretold(2, [&](cpu::context& ctx) {
    cpu::grid_position_forward(ctx, ragged, {1, 3}, of.each.data(), table.view(), x.view());
    cpu::position_forward(ctx, even, table.view(), y.view());
    cpu::grid_sine_forward(ctx, ragged, 1, of.each.data(), own_sines.view());
    cpu::sine_position_forward(ctx, even, patch_geometry{3, 6, 2, 1}, sines.view());
  });
  CHECK(x.data == y.data);
  CHECK(own_sines.data == sines.data);
}

TEST_CASE("sines tell the row and the column of a patch, whatever the grid") {
  const shapes of(0, unlike);
  const sequences seq = of.seq();
  auto x = grid<double>(seq.rows(), 8).fill(0);
  cpu_run_foretold(3,
                   [&](cpu::context& ctx) { cpu::grid_sine_forward(ctx, seq, 0, of.each.data(), x.view()); });
  for (isize s = 0; s < seq.samples; ++s)
    for (isize r = 0; r < seq.rows_of(s); ++r) {
      const isize columns = of.each[as_size(s)].columns, at = seq.begin(s) + r;
      CHECK(x(at, 0) == doctest::Approx(std::sin(static_cast<double>(r / columns))));
      CHECK(x(at, 5) == doctest::Approx(std::sin(static_cast<double>(r % columns) / 100)));
      CHECK(x(at, 6) == doctest::Approx(std::cos(static_cast<double>(r % columns))));
    }
}

}  // namespace motet
