// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/adapters.hpp>

#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>

#include "adapted.hpp"

using namespace motet;

namespace {

constexpr adapter_config few{.rank = 2, .alpha = 3},
    all{.rank = 3, .keys = true, .out = true, .gate = true, .up = true, .down = true},
    dropping{.rank = 2, .alpha = 3, .out = true, .up = true, .down = true, .dropout = 0.3f},
    last{.rank = 1, .alpha = 2, .queries = false, .values = false, .down = true};
constexpr attention_config attend(adapter_config adapters) {
  return {.width = 8,
          .heads = 4,
          .kv_heads = 2,
          .mask = mask_kind::causal,
          .rotary = 40,
          .bias = false,
          .out_bias = false,
          .head_norm = true,
          .adapters = adapters};
}

}  // namespace

static_assert(check(adapter_config{}, false).ok() && check(all, true).ok());
static_assert(check(all, false).why == reason::adapters_do_not_fit);
static_assert(check(adapter_config{.rank = -1}, true).got == -1);
static_assert(check(adapter_config{.rank = 1, .alpha = -2}, true).where == 1);
static_assert(check(adapter_config{.rank = 1, .queries = false, .values = false}, true).where == 2);
static_assert(check(adapter_config{.rank = 1, .dropout = 1}, true).why == reason::adapters_drop);
static_assert(check(adapter_config{.rank = 1, .dropout = -0.5f}, true).got == -500);
static_assert(adapter_config{.rank = 4}.scale() == 1 && adapter_config{.rank = 4, .alpha = 8}.scale() == 2);

TEST_CASE("adapters of attention keep the laws of layers beside weights that stay") {
  laws::check_layer<laws::adapted<self_attention<attend(few)>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<self_attention<attend(all)>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<self_attention<attend(dropping)>>>({.half = 7e-2});
}
TEST_CASE("adapters of a gated mlp keep the laws of layers beside weights that stay") {
  laws::check_layer<laws::adapted<gated_mlp<7, 11, false, all>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<gated_mlp<8, 5, true, last>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<gated_mlp<8, 5, true, dropping>>>({.half = 7e-2});
}

TEST_CASE("adapters are listed apart from weights, by the product they are of") {
  std::vector<std::string> names;
  for (const parameter& each : layer::parameters_of<self_attention<attend(all)>>("of", {}, listed::adapters))
    names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"of.qkv.a", "of.qkv.b", "of.out.a", "of.out.b"});
  const auto with = layer::parameters_of<self_attention<attend(all)>>(),
             without = layer::parameters_of<self_attention<attend({})>>();
  CHECK_EQ(with.size(), without.size());
}

namespace {

// What adapters add to zeros where x, A and B are ones, in a block and a step.
template <adapter_config Config, fixed_string Place>
laws::reals added(isize block, cpu::draw_key draws) {
  using one = product_adapters<6, Config, adapted_outputs{}.with(true, {0, 5}), Place>;
  constexpr isize rows = 40;
  laws::reals x(rows * 6, 1.0), y(rows * 5, 0.0), w(as_size(one::size), 1.0);
  const sequences seq{rows, 1, nullptr};
  laws::cpu_run_foretold(
      2,
      [&](auto& ctx) {
        typename one::template saved<fp64> s;
        one::template reserve<fp64>(ctx, seq, s);
        one::forward(ctx, one::whole, w.data(), block, seq, matrix<const double>{x.data(), rows, 6, 6},
                     matrix<double>{y.data(), rows, 5, 5}, s);
      },
      draws);
  return y;
}

}  // namespace

TEST_CASE("what adapters drop follows from the product, the block, the step and the row") {
  constexpr adapter_config half{.rank = 1, .dropout = 0.5f}, none{.rank = 1};
  const laws::reals base = added<half, "a">(0, {1, 2, 0});
  CHECK(base == added<half, "a">(0, {1, 2, 0}));
  CHECK(base != added<half, "a">(1, {1, 2, 0}));
  CHECK(base != added<half, "b">(0, {1, 2, 0}));
  CHECK(base != added<half, "a">(0, {1, 3, 0}));
  CHECK(base != added<half, "a">(0, {1, 2, 1}));
  CHECK(added<half, "a">(0, {1, 2, 0, false}) == added<none, "a">(0, {1, 2, 0}));
  double mean = 0;
  for (const double each : base) mean += each / static_cast<double>(base.size());
  // 240 numbers that are 2 or 0, of which 6 add up: five standard deviations of their mean are 0.33 x 6.
  CHECK(std::abs(mean - 6) < 2);
}
