// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_gaps.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("stages that wait for others are told with what of their time, and the rest is not") {
  const program of = compile(one_f_one_b::write({3, 4}));
  cost_table costs = even_costs(of, {1, 2, 2});
  CHECK(draw_gaps(of, costs).empty());
  costs.stages[1].forward_gaps = 0.25;
  costs.stages[1].input_gaps = 0.5;
  costs.stages[2].weight_gaps = 1;
  CHECK(draw_gaps(of, costs) ==
        "module 0 stage 1 waits for others of its groups: forward 25.0 %, backward 12.5 %\n"
        "module 0 stage 2 waits for others of its groups: forward 0.0 %, backward 25.0 %\n");
}
