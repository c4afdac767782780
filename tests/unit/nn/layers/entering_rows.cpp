// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/entering_rows.hpp>

#include "cpu_run.hpp"

#include <motet/backend/cpu/operations.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("rows stand where they have a place, and gradients come back from there") {
  using embed = placed_embedding<token_config{.vocabulary = 4, .context = 6, .width = 2, .position = false}>;
  // Two samples: a row between two words, and two rows of which the first one has no place.
  const std::vector<std::int32_t> ids{1, -1, 2, -1, 3}, places{1, -1, 3};
  const std::vector<motet::isize> offsets{0, 3, 5}, row_offsets{0, 1, 3};
  const std::vector<double> rows{10, 11, 20, 21, 30, 31}, dy{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<double> w(static_cast<std::size_t>(embed::parameter_size)), g(w.size()), y(10), back(6, -1);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i);
  for (const bool wanted : {true, false}) {
    std::fill(back.begin(), back.end(), -1.0);
    std::fill(g.begin(), g.end(), 0.0);
    laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
      const placed_tokens batch{{{ids.data(), {2, 0, offsets.data()}}, nullptr, 1},
                                row_offsets.data(),
                                places.data(),
                                {rows.data(), wanted ? back.data() : nullptr}};
      embed::saved<fp64> s;
      const weights<fp64> weights_of{w.data()};
      layer::reserve<embed, fp64>(ctx, embed::rows(batch), s, {});
      embed::forward(ctx, weights_of, batch, view<double, 2>(y.data(), 5), s);
      embed::backward_input(ctx, weights_of, batch, view<const double, 2>(dy.data(), 5), s);
      synchronize(ctx);
      embed::backward_weight(ctx, weights_of, batch, view<const double, 2>(dy.data(), 5), s,
                             gradients<fp64>{g.data()});
    });
    CHECK(y == std::vector<double>{2, 3, 10, 11, 4, 5, 30, 31, 6, 7});
    if (wanted) CHECK(back == std::vector<double>{3, 4, 0, 0, 7, 8});
    else CHECK(back == std::vector<double>(6, -1));
    CHECK(std::vector<double>(g.begin(), g.begin() + 8) == std::vector<double>{0, 0, 1, 2, 5, 6, 9, 10});
  }
}

TEST_CASE("no rows at all") {
  const placed_tokens none{{{nullptr, {3, 2, nullptr}}, nullptr, 1}};
  CHECK_EQ(none.rows_that_enter().rows(), 0);
  CHECK_EQ(none.rows_that_enter().samples, 3);
  CHECK_EQ(through_rows{{2, 5, nullptr}}.rows_that_enter().rows(), 10);
}
