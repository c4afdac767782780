// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/cross_attention.hpp>

#include "layer_laws.hpp"

using namespace motet;

static_assert(cross_attention<attention_config{.width = 8, .heads = 4, .kv_heads = 2}, 3>::key == 4);

TEST_CASE("rows look at those of their own sample, in any numbers") {
  using look = cross_attention<attention_config{.width = 4, .heads = 2}, 3>;
  const motet::isize words[] = {0, 2, 2, 5, 6}, rows[] = {0, 3, 4, 4, 5};
  const laws::reals w = laws::random_weights(layer::parameters_of<look>(), look::parameter_size),
                    x = laws::random_reals(6 * 4, "x"), beside = laws::random_reals(5 * 3, "beside");
  const auto out_of = [&](const laws::reals& heard, int threads) {
    laws::reals y(6 * 4);
    laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
      const rows_beside other{rows, {heard.data(), nullptr}};
      const sequences seq{4, 0, words, &other};
      look::saved<fp64> s;
      look::reserve<fp64>(ctx, seq, s);
      look::forward(ctx, weights<fp64>{w.data()}, seq, view<const double, 4>(x.data(), 6),
                    view<double, 4>(y.data(), 6), s);
    });
    return y;
  };
  const laws::reals y = out_of(beside, 1);
  for (const int threads : {2, 3}) CHECK_LE(laws::apart(out_of(beside, threads), y), 1e-14);
  // A sample without rows hears nothing but the last bias.
  const double* const bias = look::project_out::bias(w.data() + look::out_at);
  for (std::size_t i = 2 * 4; i < 5 * 4; ++i) CHECK_EQ(y[i], bias[i % 4]);
  // The last sample hears its one row, whatever it asks, and no other sample's.
  laws::reals other = beside;
  for (std::size_t i = 0; i < 4 * 3; ++i) other[i] += 1;
  const laws::reals moved = out_of(other, 2);
  for (std::size_t i = 5 * 4; i < 6 * 4; ++i) CHECK_EQ(moved[i], y[i]);
  CHECK(std::abs(moved[0] - y[0]) > 1e-3);
}
