// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/entering_stage.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/pooled_rows.hpp>

#include "cpu_run.hpp"

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace motet;

namespace {

using net = pooled_rows<pooled_config{
    .width = 6, .rows = 5, .embedding = 4, .pool = pool_kind::attention, .heads = 2}>;
using stage = net::stage;
constexpr motet::isize count = 8;

std::vector<double> drawn(motet::isize size, const char* name) {
  const random_stream draw(4, name);
  std::vector<double> out;
  for (motet::isize i = 0; i < size; ++i) out.push_back(draw.normal(static_cast<std::uint64_t>(i)));
  return out;
}

struct outcome {
  std::vector<double> y = std::vector<double>(3 * 4), dx = std::vector<double>(count * 6, -1.0),
                      g = std::vector<double>(net::parameter_size);
};
enum class backward { none, whole, in_parts };
outcome run(const std::vector<double>& w, const std::vector<double>& x, backward how, bool wanted = true) {
  const std::vector<double> dy = drawn(3 * 4, "dy");
  const std::vector<motet::isize> offsets{0, 2, 3, 8};
  outcome out;
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const through_rows batch{{3, 0, offsets.data()}, {x.data(), wanted ? out.dx.data() : nullptr}};
    stage::ends<fp64> ends;
    ends.features = {out.y.data(), 3};
    ends.d_features = {dy.data(), 3};
    const weights<fp64> of{w.data()};
    const gradients<fp64> g{out.g.data()};
    if (how == backward::none) return stage::infer(ctx, {0, 1}, of, batch, ends);
    stage::saved<fp64> s;
    stage::reserve<fp64>(ctx, {0, 1}, batch, s);
    stage::forward(ctx, {0, 1}, of, batch, ends, s);
    synchronize(ctx);
    if (how == backward::in_parts) {
      stage::backward_input(ctx, {0, 1}, of, batch, ends, s);
      synchronize(ctx);
      stage::backward_weight(ctx, {0, 1}, of, batch, ends, s, g);
    } else {
      stage::backward(ctx, {0, 1}, of, batch, ends, s, g);
    }
  });
  return out;
}

}  // namespace

static_assert(stage::check({0, 1}).ok() && !stage::check({0, 2}).ok() && !stage::check({1, 2}).ok());
static_assert(stage::layers == 1 && stage::embedding == 4);

TEST_CASE("what pools, whole or in two parts, has the gradients that differences have") {
  std::vector<double> w = drawn(net::parameter_size, "w"), x = drawn(count * 6, "x");
  const std::vector<double> dy = drawn(3 * 4, "dy");
  const outcome whole = run(w, x, backward::whole), parts = run(w, x, backward::in_parts);
  CHECK(parts.g == whole.g);
  CHECK(parts.dx == whole.dx);
  // Nobody before it learns.
  const outcome spared = run(w, x, backward::whole, false);
  CHECK(spared.g == whole.g);
  CHECK(spared.dx == std::vector<double>(count * 6, -1.0));
  const auto slope = [&](double& at) {
    const double kept = at, step = 1e-5;
    const auto value = [&](double here) {
      at = here;
      const outcome found = run(w, x, backward::none);
      double sum = 0;
      for (std::size_t i = 0; i < dy.size(); ++i) sum += dy[i] * found.y[i];
      return sum;
    };
    const double above = value(kept + step), below = value(kept - step);
    at = kept;
    return (above - below) / (2 * step);
  };
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(slope(x[i]) - whole.dx[i]) <= 1e-7);
  for (const parameter& each : layer::parameters_of<net>())
    for (const motet::isize i : {motet::isize{0}, each.held() / 2, each.held() - 1}) {
      const auto at = static_cast<std::size_t>(each.offset + i);
      CAPTURE(each.name);
      CHECK(std::abs(slope(w[at]) - whole.g[at]) <= 1e-7);
    }
}
