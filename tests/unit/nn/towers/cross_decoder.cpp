// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/cross_decoder.hpp>

#include <motet/backend/cpu/operations.hpp>

#include "cpu_run.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

using namespace motet;

namespace {

constexpr motet::isize wide = 6;  // of rows beside
constexpr decoder_config words{.vocabulary = 9,
                               .context = 5,
                               .width = 8,
                               .layers = 2,
                               .heads = 2,
                               .hidden = 5,
                               .act = activation::gelu,
                               .gated = false,
                               .norm = norm_kind::layer,
                               .rotary = 0,
                               .bias = true,
                               .mlp_bias = true,
                               .tied = true};
constexpr decoder_config turned{.vocabulary = 9,
                                .context = 5,
                                .width = 8,
                                .layers = 4,
                                .heads = 4,
                                .kv_heads = 2,
                                .hidden = 5,
                                .rotary = 50,
                                .recompute = true};
// Of four blocks every other one looks, through a gate.
template <decoder_config Config>
using net = cross_decoder<Config, wide, 4, Config.layers == 4 ? 2 : 1, Config.layers == 4>;

std::vector<double> drawn(motet::isize size, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < size; ++i) out.push_back(0.5 * draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}

// Four samples: rows beside and words, words alone, rows alone, both.
struct text {
  std::vector<std::int32_t> ids{1, 2, 5, 3, 4, 4, 0, 8}, targets{3, 4, -1, 7, -1, 8, 1, 2};
  std::vector<motet::isize> offsets{0, 3, 5, 5, 8}, row_offsets{0, 2, 2, 3, 7};
};
constexpr motet::isize samples = 4, rows_beside_all = 7;

struct way {
  int threads = 1;
  bool split = false;  // backward in its two parts
};
// The loss, and by choice all gradients.
template <decoder_config Config>
double lost(const std::vector<double>& w, const std::vector<double>& rows, std::vector<double>* g = nullptr,
            std::vector<double>* back = nullptr, way how = {}) {
  const text data;
  using one = net<Config>;
  using stage = typename one::stage;
  std::vector<double> features(samples), slopes(samples, 1.0);
  const view<double, 1> lost(features.data(), samples);
  const view<const double, 1> slope(slopes.data(), samples);
  laws::cpu_run_foretold(how.threads, [&](cpu::context& ctx) {
    const tokens_beside batch{
        {{data.ids.data(), {samples, 0, data.offsets.data()}}, data.targets.data(), 0.125},
        {data.row_offsets.data(), {rows.data(), back == nullptr ? nullptr : back->data()}}};
    const weights<fp64> of{w.data()};
    if (g == nullptr) return one::infer(ctx, of, batch, lost);
    const gradients<fp64> to{g->data()};
    typename one::template saved<fp64> s;
    one::template reserve<fp64>(ctx, batch, s);
    one::forward(ctx, of, batch, lost, s);
    const typename stage::template ends<fp64> ends{.d_features = slope};
    if (!how.split) return stage::backward(ctx, one::whole, of, batch, ends, s, to);
    stage::backward_input(ctx, one::whole, of, batch, ends, s);
    synchronize(ctx);
    stage::backward_weight(ctx, one::whole, of, batch, ends, s, to);
  });
  return std::accumulate(features.begin(), features.end(), 0.0);
}

template <decoder_config Config>
void check_differences() {
  std::vector<double> w = drawn(net<Config>::parameter_size, "w"),
                      rows = drawn(rows_beside_all * wide, "rows");
  std::vector<double> g(w.size()), back(rows.size(), -1.0);
  const double loss = lost<Config>(w, rows, &g, &back);
  CHECK(loss > 0);
  CHECK(std::abs(lost<Config>(w, rows) - loss) <= 1e-13);
  for (const way how : {way{2, false}, way{3, false}, way{1, true}, way{2, true}}) {
    std::vector<double> other(w.size()), other_back(rows.size(), -1.0), alone(w.size());
    lost<Config>(w, rows, &other, &other_back, how);
    lost<Config>(w, rows, &alone, nullptr, how);  // what feeds it does not learn
    for (std::size_t i = 0; i < w.size(); ++i) REQUIRE(std::abs(other[i] - g[i]) <= 1e-13);
    for (std::size_t i = 0; i < w.size(); ++i) REQUIRE(std::abs(alone[i] - g[i]) <= 1e-13);
    for (std::size_t i = 0; i < rows.size(); ++i) REQUIRE(std::abs(other_back[i] - back[i]) <= 1e-13);
  }
  const auto slope = [&](double& at) {
    const double kept = at, step = 1e-5;
    at = kept + step;
    const double above = lost<Config>(w, rows);
    at = kept - step;
    const double below = lost<Config>(w, rows);
    at = kept;
    return (above - below) / (2 * step);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::abs(slope(rows[i]) - back[i]) <= 1e-8);
  // Of the third sample there are rows, and no word that looks at them.
  for (motet::isize c = 0; c < wide; ++c) CHECK_EQ(back[static_cast<std::size_t>(2 * wide + c)], 0);
  CHECK(std::abs(back[0]) > 1e-4);
  for (const parameter& each : layer::parameters_of<net<Config>>())
    for (const motet::isize i : {motet::isize{0}, each.held() / 2, each.held() - 1}) {
      const auto at = static_cast<std::size_t>(each.offset + i);
      CAPTURE(each.name);
      CHECK(std::abs(slope(w[at]) - g[at]) <= 1e-8);
    }
}

}  // namespace

static_assert(net<words>::takes_rows == wide && net<words>::most_rows == 4 && net<words>::own_loss);
static_assert(!decoder<words>::looks_beside && net<words>::looks_beside);
static_assert(net<turned>::layers == 2 && net<words>::layers == 2);
static_assert(
    net<turned>::parameter_size - decoder<turned>::parameter_size ==
    2 * (cross_decoder<turned, wide, 4, 1, true>::parameter_size - decoder<turned>::parameter_size) / 4);

TEST_CASE("gradients of rows beside, and of weights, are those of finite differences") {
  check_differences<words>();
  check_differences<turned>();
}

TEST_CASE("a net whose gates are closed is the decoder without rows beside") {
  using gated = net<turned>;
  using plain = decoder<turned>;
  std::vector<double> w = drawn(gated::parameter_size, "w"), of_plain(as_size(plain::parameter_size));
  const std::vector<double> rows = drawn(rows_beside_all * wide, "rows");
  const auto values = layer::parameters_of<gated>();
  // The decoder's blocks have numbers where these have places in a group.
  for (const parameter& each : layer::parameters_of<plain>()) {
    std::string name = each.name;
    if (name.starts_with("blocks.")) {
      const int block = name[7] - '0';
      name =
          "blocks." + std::to_string(block / 2) + (block % 2 == 0 ? ".plain.0" : ".looking") + name.substr(8);
    }
    const auto same =
        std::find_if(values.begin(), values.end(), [&](const parameter& p) { return p.name == name; });
    REQUIRE(same != values.end());
    std::copy_n(w.begin() + same->offset, each.size(), of_plain.begin() + each.offset);
  }
  int gates = 0;
  for (const parameter& each : values)
    if (each.name.ends_with(".cross.gate")) w[as_size(each.offset)] = 0, ++gates;
  CHECK(gates == 2);
  const text data;
  std::vector<double> lost_by_plain(samples);
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const labelled_tokens batch{
        {data.ids.data(), {samples, 0, data.offsets.data()}}, data.targets.data(), 0.125};
    plain::infer(ctx, weights<fp64>{of_plain.data()}, batch, view<double, 1>(lost_by_plain.data(), samples));
  });
  CHECK(lost<turned>(w, rows) ==
        doctest::Approx(std::accumulate(lost_by_plain.begin(), lost_by_plain.end(), 0.0)).epsilon(1e-13));
}
