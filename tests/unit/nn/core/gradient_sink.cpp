// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/gradient_sink.hpp>

#include <motet/nn/compose/stage.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include "layer_laws.hpp"

#include <cmath>
#include <stdexcept>

using namespace motet;

namespace {

// A listener keeps what a stage told, and the gradients as they were then. With memory, gradients come there.
struct listener {
  struct part {
    motet::isize begin, count;
    std::vector<double> then;
  };
  const double* base = nullptr;
  std::vector<part> parts;
  std::vector<double> memory;
  gradient_sink sink() {
    return {[](void* self, const void* data, motet::isize count) {
              auto& own = *static_cast<listener*>(self);
              const auto* const belongs = static_cast<const double*>(data);
              const auto* const from = own.memory.empty() ? belongs : own.memory.data();
              own.parts.push_back({belongs - own.base, count, {from, from + count}});
              std::fill(own.memory.begin(), own.memory.end(), 0.0);
            },
            this,
            memory.empty() ? nullptr : +[](void* self, const void*, motet::isize) -> void* {
              return static_cast<listener*>(self)->memory.data();
            }};
  }
};

// This one has the weights of one part of a stage at a time, and no numbers in the place of the others.
struct lending {
  std::vector<double> weights, memory;
  std::vector<interval> parts;
  weight_lender lender() {
    const double* const first = standing_address<double>();
    return {[](void* self, const void* data, motet::isize count) -> const void* {
              auto& own = *static_cast<lending*>(self);
              const motet::isize begin = static_cast<const double*>(data) - standing_address<double>();
              bool known = false;
              for (const interval each : own.parts)
                known = known || (each.begin == begin && each.size() == count);
              if (!known) throw std::runtime_error("no part");
              std::copy_n(own.weights.begin() + begin, count, own.memory.begin());
              return own.memory.data();
            },
            this, first, first + weights.size()};
  }
};

// Backward of one stage by itself, whole or in two parts, of two microbatches; the listener hears of the
// second one.
template <class Net>
std::vector<double> run(const typename Net::input& batch, stage_range range, int threads, bool split,
                        listener& told, bool lends = false) {
  using stage = typename Net::stage;
  const motet::isize begin = stage::parameter_begin(range), size = stage::parameter_end(range) - begin;
  auto w = laws::random_weights(layer::parameters_of<Net>(), Net::parameter_size);
  std::vector<double> g(static_cast<std::size_t>(size), 0.0);
  const sequences seq = Net::rows(batch);
  auto x = laws::random_reals(seq.rows() * stage::width, "x"),
       dy = laws::random_reals(seq.rows() * stage::width, "dy");
  auto d_features = laws::random_reals(seq.samples * stage::embedding, "df");
  std::vector<double> y(x.size()), dx(x.size()), features(d_features.size());
  told.base = g.data();
  lending lent;
  lent.weights.assign(w.begin() + begin, w.begin() + begin + size);
  lent.memory.resize(lent.weights.size(), std::nan(""));
  lent.parts = stage::weight_parts(range);
  laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
    typename stage::template ends<fp64> e;
    if (!stage::is_first(range)) e.x = {x.data(), seq.rows()}, e.dx = {dx.data(), seq.rows()};
    if (!stage::is_last(range)) e.y = {y.data(), seq.rows()}, e.dy = {dy.data(), seq.rows()};
    else e.features = {features.data(), seq.samples}, e.d_features = {d_features.data(), seq.samples};
    const weights<fp64> at{lends ? standing_address<double>() : w.data() + begin};
    if (lends) ctx.lender = lent.lender();
    typename stage::template saved<fp64> s;
    stage::template reserve<fp64>(ctx, range, batch, s);
    stage::forward(ctx, range, at, batch, e, s);
    // Nobody listens to the first microbatch.
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      ctx.sink = microbatch == 1 ? told.sink() : gradient_sink{};
      typename stage::template saved<fp64> again = s;
      if (!split) {
        stage::backward(ctx, range, at, batch, e, again, gradients<fp64>{g.data()});
        continue;
      }
      stage::backward_input(ctx, range, at, batch, e, again);
      synchronize(ctx);
      stage::backward_weight(ctx, range, at, batch, e, again, gradients<fp64>{g.data()});
      synchronize(ctx);
    }
  });
  return g;
}
template <class Net>
void check(const typename Net::input& batch, stage_range range, int threads, bool split) {
  CAPTURE(range.first);
  CAPTURE(range.last);
  CAPTURE(threads);
  CAPTURE(split);
  listener told, elsewhere;
  const std::vector<double> all = run<Net>(batch, range, threads, split, told);
  elsewhere.memory.resize(all.size());
  const std::vector<double> first = run<Net>(batch, range, threads, split, elsewhere);
  listener other;
  CHECK(run<Net>(batch, range, threads, split, other, true) == all);
  const std::vector<interval> wanted = Net::stage::gradient_parts(range);
  REQUIRE(told.parts.size() == wanted.size());
  REQUIRE(elsewhere.parts.size() == wanted.size());
  CHECK(wanted.back().end == static_cast<motet::isize>(all.size()));
  CHECK(wanted.size() >= static_cast<std::size_t>(range.last - range.first));
  motet::isize begin = 0;
  for (std::size_t p = 0; p < wanted.size(); ++p) {
    // from the end down
    const auto &here = told.parts[wanted.size() - 1 - p], &there = elsewhere.parts[wanted.size() - 1 - p];
    CHECK(wanted[p].begin == begin);
    CHECK(here.begin == begin);
    CHECK(there.begin == begin);
    CHECK(here.count == wanted[p].size());
    begin = wanted[p].end;
    int wrong = 0, zeros = 0;
    for (motet::isize i = 0; i < here.count; ++i) {
      const double then = here.then[static_cast<std::size_t>(i)],
                   second = there.then[static_cast<std::size_t>(i)];
      const auto at = static_cast<std::size_t>(here.begin + i);
      wrong += then != all[at];  // it was final
      wrong += std::abs(first[at] + second - then) > 1e-12;
      zeros += second == 0;
    }
    CHECK(wrong == 0);
    CHECK(zeros < here.count);
  }
}

template <class Net>
void check_all(const typename Net::input& batch) {
  for (const stage_range range :
       {stage_range{0, 3}, stage_range{0, 1}, stage_range{1, 2}, stage_range{1, 3}, stage_range{2, 3}})
    for (int threads = 1; threads <= 2; ++threads)
      for (const bool split : {false, true}) check<Net>(batch, range, threads, split);
}

}  // namespace

TEST_CASE("a stage tells of each layer's gradients when they are final") {
  constexpr vit_config eye{
      .image = 4, .patch = 2, .width = 8, .layers = 3, .heads = 2, .hidden = 9, .embedding = 5};
  constexpr text_config ear{
      .vocabulary = 7, .context = 6, .width = 8, .layers = 3, .heads = 2, .hidden = 9, .embedding = 5};
  const laws::picture_batch pictures(3, 3, 4);
  check_all<vit<eye>>(pictures.input);
  const laws::token_batch texts({0, 3, 5, 11}, 7);
  check_all<text_tower<ear>>(texts.input);
}

TEST_CASE("nobody is told while memory is measured, of nothing, or without a sink") {
  listener told;
  std::byte some[64];
  double number = 1;
  told.base = &number;
  cpu::context ctx;
  ctx.sink = told.sink();
  gradients_ready(ctx, &number, 1);
  CHECK(told.parts.empty());
  ctx.memory = arena(some, 64);
  gradients_ready(ctx, &number, 0);
  CHECK(told.parts.empty());
  gradients_ready(ctx, &number, 1);
  CHECK(told.parts.size() == 1);
  ctx.sink = {};
  gradients_ready(ctx, &number, 1);
  CHECK(told.parts.size() == 1);
}
