// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/rank_update.hpp>

#include <motet/backend/cpu/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <numeric>

using namespace motet;

namespace {

// What an update asks of its rank.
struct home_type {
  using master = float;
  cpu::context ctx;
  local::endpoint* end = nullptr;
};
using update_type = rank_update<home_type, cpu::adamw_step>;

struct tensor {
  std::vector<float> weights, gradients, first, second;
  explicit tensor(std::size_t size, float start) : weights(size), gradients(size), first(size, 0.0f), second(size, 0.0f) {
    std::iota(weights.begin(), weights.end(), start);
    for (std::size_t i = 0; i < size; ++i) gradients[i] = 0.25f * static_cast<float>(i % 5) - 0.4f;
  }
  parameter_piece<float> piece(std::vector<parameter_run> runs = {}) {
    const auto size = static_cast<motet::index>(weights.size());
    if (runs.empty()) runs = {{0, size, false}};
    return {0, size, weights.data(), gradients.data(), first.data(), second.data(), std::move(runs)};
  }
};

// Two ranks that update: one with two stages and the numbers of the loss, one with one stage. They are members 0 and 1 of meeting 0.
struct two_ranks {
  local::world world{3, 0, std::vector<std::vector<std::int32_t>>{{0, 2}}};
  local::endpoint ends[2] = {{world, 0}, {world, 2}};
  home_type homes[2];
  tensor a{40, 1}, b{16, 2}, c{24, 3}, loss{16, 4.59f};
  std::unique_ptr<update_type> updates[2];

  explicit two_ranks(const adamw_settings& settings, motet::index clamped = -1) {
    for (int r = 0; r < 2; ++r) {
      homes[r].end = &ends[r];
      updates[r] = std::make_unique<update_type>(homes[r], settings, 16, 0, r, 2);
    }
    updates[0]->hold(a.piece({{0, 16, true}, {16, 24, false}}));
    updates[0]->hold(b.piece());
    updates[1]->hold(c.piece());
    updates[0]->hold_loss(loss.piece(), clamped);
  }
  void step(motet::index number, double rate, double loss_here = 0.5, double loss_there = 0.25) {
    for (int r = 0; r < 2; ++r) {
      ends[r].begin_step();
      updates[r]->begin_step(number, rate);
    }
    // Parts of the gradients of the loss's numbers come from both.
    const std::vector<float> here(16, 0.125f), there(16, 0.0625f);
    CHECK(updates[0]->stage_ready(loss_here, here.data()));   // the first of its two stages
    CHECK(!updates[0]->stage_ready(loss_here, here.data()));  // the other rank has not told
    CHECK(!updates[0]->stage_ready(loss_here, here.data()));
    CHECK(updates[1]->stage_ready(loss_there, there.data()));
    CHECK(updates[0]->stage_ready(loss_here, here.data()));
  }
  double squares() const {
    double sum = 16 * 0.1875 * 0.1875;
    for (const tensor* each : {&a, &b, &c})
      for (const float g : each->gradients) sum += static_cast<double>(g) * static_cast<double>(g);
    return sum;
  }
};

}  // namespace

TEST_CASE("all ranks clip by the norm of the whole gradient, and update as AdamW does") {
  adamw_settings settings;
  settings.clip = 0.5;
  two_ranks all(settings);
  const double norm = std::sqrt(all.squares());
  REQUIRE(norm > settings.clip);
  // One rank's AdamW over the same tensors.
  tensor a = all.a, b = all.b, c = all.c, loss = all.loss;
  loss.gradients.assign(16, 0.1875f);
  cpu::context ctx;
  static std::byte some[64];
  ctx.memory = arena(some, 64);
  const auto wanted = [&](tensor& of, motet::index at, motet::index size, bool decay) {
    const auto step = adamw_step_for<cpu::adamw_step>(settings, 3, 1e-2, clip_scale(norm, settings.clip), decay);
    adamw(ctx, of.weights.data() + at, of.gradients.data() + at, of.first.data() + at, of.second.data() + at, size, step, true);
  };
  wanted(a, 0, 16, true);
  wanted(a, 16, 24, false);
  wanted(b, 0, 16, false);
  wanted(c, 0, 24, false);
  wanted(loss, 0, 16, false);
  for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
  all.step(2, 1e-2);
  for (const auto& each : all.updates) CHECK(each->norm() == doctest::Approx(norm));
  CHECK(all.a.weights == a.weights);
  CHECK(all.b.weights == b.weights);
  CHECK(all.c.weights == c.weights);
  CHECK(all.loss.weights == loss.weights);
  CHECK(all.c.second == c.second);
  for (const tensor* each : {&all.a, &all.b, &all.c}) CHECK(each->gradients == std::vector<float>(each->gradients.size(), 0.0f));
}

TEST_CASE("what is not finite anywhere keeps every rank from updating") {
  static std::byte some[64];
  for (const int where : {0, 1, 2, 3}) {
    CAPTURE(where);
    two_ranks all({});
    for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (where == 0) all.b.gradients[3] = nan;
    if (where == 1) all.c.gradients[3] = std::numeric_limits<float>::infinity();
    const tensor a = all.a, c = all.c, loss = all.loss;
    all.step(0, 1e-2, where == 2 ? static_cast<double>(nan) : 1, where == 3 ? static_cast<double>(nan) : 1);
    CHECK(all.a.weights == a.weights);
    CHECK(all.c.weights == c.weights);
    CHECK(all.loss.weights == loss.weights);
    CHECK(all.c.first == c.first);
    CHECK(all.a.gradients == a.gradients);
    if (where < 2) CHECK(!std::isfinite(all.updates[1]->norm()));
    // The next step is a new one.
    all.b.gradients[3] = all.c.gradients[3] = 0;
    all.step(0, 1e-2);
    CHECK(all.a.weights != a.weights);
    CHECK(all.c.weights != c.weights);
  }
}

TEST_CASE("the number that is clamped stays at or below ln 100, the others do not") {
  static std::byte some[64];
  adamw_settings settings;
  settings.decay = 0;
  for (const motet::index clamped : {motet::index{-1}, motet::index{2}}) {
    two_ranks all(settings, clamped);
    for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
    const std::vector<float> before = all.loss.weights;
    all.step(0, 1e-3);
    for (std::size_t i = 0; i < 16; ++i) {
      if (static_cast<motet::index>(i) == clamped) CHECK(all.loss.weights[i] == doctest::Approx(4.60517));
      else CHECK(all.loss.weights[i] == doctest::Approx(before[i]).epsilon(1e-3));
    }
  }
}
