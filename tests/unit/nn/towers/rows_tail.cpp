// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/rows_tail.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/layers/norm.hpp>

#include "cpu_run.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("bare rows go on, and their gradients come back, as they are") {
  using tail = rows_tail<bare_rows<2>>;
  const std::vector<double> x{1, 2, 3, 4}, dy{5, 6, 7, 8};
  std::vector<double> y(4), dx(4), again(4);
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const sequences seq{2, 1, nullptr};
    tail::saved<fp64> s;
    tail::reserve<fp64>(ctx, seq, s);
    const view<const double, 2> in(x.data(), 2);
    tail::forward(ctx, weights<fp64>{nullptr}, seq, in, view<double, 2>(y.data(), 2), s);
    tail::infer(ctx, weights<fp64>{nullptr}, seq, in, view<double, 2>(again.data(), 2));
    tail::backward(ctx, weights<fp64>{nullptr}, seq, in, view<const double, 2>(dy.data(), 2),
                   view<double, 2>(dx.data(), 2), s, gradients<fp64>{nullptr});
  });
  CHECK(y == x);
  CHECK(again == x);
  CHECK(dx == dy);
}

TEST_CASE("a last layer has the name of a norm") {
  parameter_list named, bare;
  rows_tail<norm<4, norm_config{}>>::parameters(named);
  rows_tail<bare_rows<4>>::parameters(bare);
  REQUIRE(!named.items().empty());
  CHECK(named.items()[0].name.starts_with("norm."));
  CHECK(bare.items().empty());
}
