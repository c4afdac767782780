// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/resized_position.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

// Plain loops over both grids: what the point (row, column) of the larger one takes of each of the table's.
TEST_CASE_TEMPLATE("positions at other points, and their gradient, against plain loops", T, float, double) {
  for (const int threads : {1, 3})
    for (const isize lead : {0, 1})
      for (const cubic_axis axis : {cubic_axis{3, 5}, cubic_axis{4, 2}, cubic_axis{1, 3}}) {
        const isize width = 5, from = lead + axis.from * axis.from, to = lead + axis.to * axis.to;
        const auto table = grid<T>(from, width, 2).random(1), dy = grid<T>(to, width, 1).random(2),
                   before = grid<T>(from, width, 3).random(3);
        grid<T> y(to, width, 1);
        auto d_table = before;
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          cpu::resize_positions(ctx, lead, axis, table.view(), y.view());
          cpu::resize_positions_backward(ctx, lead, axis, dy.view(), d_table.view());
        });
        auto want = grid<double>(to, width).fill(0), want_d = grid<double>(from, width);
        for (isize c = 0; c < width; ++c) {
          for (isize r = 0; r < from; ++r) want_d.at(r, c) = before(r, c);
          for (isize r = 0; r < lead; ++r) want.at(r, c) = table(r, c), want_d.at(r, c) += dy(r, c);
          for (isize i = 0; i < axis.to; ++i)
            for (isize j = 0; j < axis.to; ++j)
              for (int a = 0; a < 4; ++a)
                for (int b = 0; b < 4; ++b) {
                  const auto down = axis.of(i), right = axis.of(j);
                  const isize here = lead + i * axis.to + j,
                              there = lead + down.at[a] * axis.from + right.at[b];
                  const double weight = down.weight[a] * right.weight[b];
                  want.at(here, c) += weight * table(there, c);
                  want_d.at(there, c) += weight * dy(here, c);
                }
        }
        CHECK(distance(y, want) < tolerance<T>);
        CHECK(distance(d_table, want_d) < tolerance<T>);
        CHECK((y.gaps_intact() && d_table.gaps_intact()));
      }
}

}  // namespace motet
