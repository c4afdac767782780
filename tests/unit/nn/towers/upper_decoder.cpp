// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/upper_decoder.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/fed_decoder.hpp>

#include "cpu_run.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

constexpr decoder_config words{.vocabulary = 9,
                               .context = 8,
                               .width = 8,
                               .layers = 2,
                               .heads = 2,
                               .kv_heads = 1,
                               .hidden = 5,
                               .rotary = 50};
using net = upper_decoder<words, 8>;
using whole = fed_decoder<words, 8>;
// The table of tokens comes first.
constexpr motet::isize table = whole::parameter_size - net::parameter_size;

std::vector<double> drawn(motet::isize size, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < size; ++i) out.push_back(0.5 * draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}

struct outcome {
  std::vector<double> losses = std::vector<double>(2), g, back = std::vector<double>(7 * 8, -1.0);
};
// Two samples of four and two rows, all of them brought by another module, and one that nobody reads.
template <class Net>
outcome run(const double* w) {
  const std::vector<std::int32_t> ids(6, -1), targets{-1, 3, 4, -1, 2, 7}, places{-1, 0, 1, 2, 3, 4, 5};
  const std::vector<motet::isize> offsets{0, 4, 6}, row_offsets{0, 5, 7};
  const std::vector<double> rows = drawn(7 * 8, "rows");
  std::vector<double> slopes(2, 1.0);
  outcome out;
  out.g.resize(static_cast<std::size_t>(Net::parameter_size));
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const placed_tokens batch{{{ids.data(), {2, 0, offsets.data()}}, targets.data(), 0.25},
                              row_offsets.data(),
                              places.data(),
                              {rows.data(), out.back.data()}};
    typename Net::template saved<fp64> s;
    Net::template reserve<fp64>(ctx, batch, s);
    Net::forward(ctx, weights<fp64>{w}, batch, view<double, 1>(out.losses.data(), 2), s);
    Net::backward(ctx, weights<fp64>{w}, batch, view<double, 1>(slopes.data(), 2), s,
                  gradients<fp64>{out.g.data()});
  });
  return out;
}

}  // namespace

static_assert(net::takes_rows == 8 && net::most_rows == 8 && net::own_loss);
static_assert(table == parameter_space(9 * 8), "it has no table of tokens");
static_assert(net::with_sources<2>::sources == 2);
static_assert(net::last_logits::embedding == 9 && net::last_logits::parameter_size == net::parameter_size);

TEST_CASE("it is a decoder whose rows are all brought to it, to the bit") {
  const std::vector<double> w = drawn(whole::parameter_size, "w");
  const outcome fed = run<whole>(w.data()), upper = run<net>(w.data() + table);
  CHECK(upper.losses == fed.losses);
  CHECK(upper.losses[0] > 0);
  CHECK(upper.back == fed.back);
  CHECK(upper.g == std::vector<double>(fed.g.begin() + table, fed.g.end()));
  CHECK(std::vector<double>(fed.g.begin(), fed.g.begin() + table) ==
        std::vector<double>(static_cast<std::size_t>(table)));
}
