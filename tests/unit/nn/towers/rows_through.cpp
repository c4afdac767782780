// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/rows_through.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

#include "cpu_run.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

using glue = projector<3, 5, 4>;
using net = rows_through<glue, 6>;
using stage = net::stage;
constexpr motet::isize count = 7;

std::vector<double> drawn(motet::isize size, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < size; ++i) out.push_back(draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}

struct outcome {
  std::vector<double> y = std::vector<double>(count * 5), dx = std::vector<double>(count * 3),
                      g = std::vector<double>(net::parameter_size);
  double flops = 0;
};
outcome run(bool split, bool wanted) {
  const std::vector<double> w = drawn(net::parameter_size, "w"), x = drawn(count * 3, "x"),
                            dy = drawn(count * 5, "dy");
  const std::vector<motet::isize> offsets{0, 2, 2, 7};
  outcome out;
  const cpu::profile costs = laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const through_rows batch{{3, 0, offsets.data()}, {x.data(), wanted ? out.dx.data() : nullptr}};
    stage::ends<fp64> ends;
    ends.features = {out.y.data(), count};
    ends.d_features = {dy.data(), count};
    stage::saved<fp64> s;
    const weights<fp64> of{w.data()};
    const gradients<fp64> g{out.g.data()};
    stage::reserve<fp64>(ctx, {0, 1}, batch, s);
    stage::forward(ctx, {0, 1}, of, batch, ends, s);
    if (split) {
      stage::backward_input(ctx, {0, 1}, of, batch, ends, s);
      synchronize(ctx);
      stage::backward_weight(ctx, {0, 1}, of, batch, ends, s, g);
    } else {
      stage::backward(ctx, {0, 1}, of, batch, ends, s, g);
    }
  });
  out.flops = costs.flops();
  return out;
}

}  // namespace

static_assert(net::takes_rows == 3 && net::embedding == 5 && net::gives_rows);
static_assert(net::with_rows<9>::most_rows == 9);
static_assert(stage::check({0, 1}).ok() && !stage::check({0, 2}).ok());

TEST_CASE("rows that enter come out of the layer, and gradients go back") {
  const outcome whole = run(false, true), parts = run(true, true);
  CHECK(whole.y == parts.y);
  CHECK(whole.dx == parts.dx);
  CHECK(whole.g == parts.g);
  // The layer alone gives what is wanted.
  const std::vector<double> w = drawn(net::parameter_size, "w"), x = drawn(count * 3, "x"),
                            dy = drawn(count * 5, "dy");
  outcome alone;
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const sequences seq{count, 1, nullptr};
    glue::saved<fp64> s;
    glue::reserve<fp64>(ctx, seq, s);
    const view<const double, 3> in(x.data(), count);
    glue::forward(ctx, weights<fp64>{w.data()}, seq, in, view<double, 5>(alone.y.data(), count), s);
    layer::backward<glue>(ctx, weights<fp64>{w.data()}, seq, in, view<const double, 5>(dy.data(), count),
                          view<double, 3>(alone.dx.data(), count), s, gradients<fp64>{alone.g.data()});
  });
  CHECK(whole.y == alone.y);
  CHECK(whole.dx == alone.dx);
  CHECK(whole.g == alone.g);
}

TEST_CASE("a gradient that nobody wants is not computed") {
  const outcome wanted = run(false, true), spared = run(false, false);
  CHECK(spared.g == wanted.g);
  CHECK(spared.dx == std::vector<double>(count * 3, 0.0));
  CHECK_EQ(wanted.flops - spared.flops, 2.0 * count * 3 * 4);
}
