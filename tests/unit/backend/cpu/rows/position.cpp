// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/position.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("positions are added and their gradients collected", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 17, 64, 75}) {
      const isize rows = seq.rows(), longest = 9;
      const auto table = grid<master>(longest, width, 2).random(1);
      const auto dy = grid<value>(rows, width, 1).random(2);
      auto x = grid<stream>(rows, width, 3).random(3);
      auto dtable = grid<master>(longest, width, 1).random(4);
      grid<double> want(rows, width), want_table(longest, width);
      for (isize p = 0; p < longest; ++p)
        for (isize c = 0; c < width; ++c) want_table.at(p, c) = dtable(p, c);
      for (isize s = 0; s < seq.samples; ++s)
        for (isize r = seq.begin(s); r < seq.end(s); ++r)
          for (isize c = 0; c < width; ++c) {
            want.at(r, c) = x(r, c) + table(r - seq.begin(s), c);
            want_table.at(r - seq.begin(s), c) += dy(r, c);
          }
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        position_forward(ctx, seq, table.view(), x.view());
        synchronize(ctx);
        position_backward_weight(ctx, seq, dy.view(), dtable.view());
      });
      CHECK(distance(x, want) < tolerance<stream>);
      CHECK(distance(dtable, want_table) < tolerance<master>);
      CHECK((x.gaps_intact() && dtable.gaps_intact()));
    }
  });
}

}  // namespace motet
