// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/fed_decoder.hpp>

#include <motet/backend/cpu/operations.hpp>

#include "cpu_run.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace motet;

namespace {

constexpr decoder_config words{.vocabulary = 9,
                               .context = 8,
                               .width = 8,
                               .layers = 1,
                               .heads = 2,
                               .kv_heads = 1,
                               .hidden = 5,
                               .rotary = 50};
using net = fed_decoder<words, 3>;

std::vector<double> drawn(motet::isize size, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < size; ++i) out.push_back(0.5 * draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}

struct text {
  std::vector<std::int32_t> ids{1, -1, 2, 5, -1, -1, 3, 4}, targets{-1, 3, 4, 2, -1, 7, 8, 1},
      places{1, 4, 5};
  std::vector<motet::isize> offsets{0, 3, 3, 8}, row_offsets{0, 1, 1, 3};
};
// The loss, and by choice all gradients.
double lost(const std::vector<double>& w, const std::vector<double>& rows, std::vector<double>* g = nullptr,
            std::vector<double>* back = nullptr) {
  const text data;
  std::vector<double> features(3), slopes(3, 1.0);
  laws::cpu_run_foretold(g == nullptr ? 1 : 2, [&](cpu::context& ctx) {
    const placed_tokens batch{{{data.ids.data(), {3, 0, data.offsets.data()}}, data.targets.data(), 0.125},
                              data.row_offsets.data(),
                              data.places.data(),
                              {rows.data(), back == nullptr ? nullptr : back->data()}};
    net::saved<fp64> s;
    net::reserve<fp64>(ctx, batch, s);
    net::forward(ctx, weights<fp64>{w.data()}, batch, view<double, 1>(features.data(), 3), s);
    if (g != nullptr)
      net::backward(ctx, weights<fp64>{w.data()}, batch, view<double, 1>(slopes.data(), 3), s,
                    gradients<fp64>{g->data()});
  });
  return features[0] + features[1] + features[2];
}

}  // namespace

static_assert(net::takes_rows == 8 && net::most_rows == 3 && net::own_loss);
static_assert(net::parameter_size == decoder<words>::parameter_size);

TEST_CASE("gradients of rows that enter, and of weights, are those of finite differences") {
  std::vector<double> w = drawn(net::parameter_size, "w"), rows = drawn(3 * 8, "rows");
  std::vector<double> g(w.size()), back(rows.size(), -1.0);
  const double loss = lost(w, rows, &g, &back);
  CHECK(loss > 0);
  const auto slope = [&](double& at) {
    const double kept = at, step = 1e-5;
    at = kept + step;
    const double above = lost(w, rows);
    at = kept - step;
    const double below = lost(w, rows);
    at = kept;
    return (above - below) / (2 * step);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::abs(slope(rows[i]) - back[i]) <= 1e-8);
  for (const parameter& each : layer::parameters_of<net>())
    for (const motet::isize i : {motet::isize{0}, each.held() / 2, each.held() - 1}) {
      const auto at = static_cast<std::size_t>(each.offset + i);
      CAPTURE(each.name);
      CHECK(std::abs(slope(w[at]) - g[at]) <= 1e-8);
    }
}

TEST_CASE("without rows it is the decoder alone") {
  const std::vector<double> w = drawn(net::parameter_size, "w");
  const std::vector<std::int32_t> ids{1, 2, 3}, targets{2, 3, 4};
  const labelled_tokens batch{{ids.data(), {1, 3, nullptr}}, targets.data(), 0.5};
  double alone = 0, fed = 0;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    decoder<words>::infer(ctx, weights<fp64>{w.data()}, batch, view<double, 1>(&alone, 1));
  });
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    net::infer(ctx, weights<fp64>{w.data()}, placed_tokens{batch}, view<double, 1>(&fed, 1));
  });
  CHECK_EQ(alone, fed);
}
