// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/adapters.hpp>

#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>

#include "adapted.hpp"

using namespace motet;

namespace {

constexpr adapter_config few{.rank = 2, .alpha = 3},
    all{.rank = 3, .keys = true, .out = true, .gate = true, .up = true, .down = true},
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
static_assert(adapter_config{.rank = 4}.scale() == 1 && adapter_config{.rank = 4, .alpha = 8}.scale() == 2);

TEST_CASE("adapters of attention keep the laws of layers beside weights that stay") {
  laws::check_layer<laws::adapted<self_attention<attend(few)>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<self_attention<attend(all)>>>({.half = 7e-2});
}
TEST_CASE("adapters of a gated mlp keep the laws of layers beside weights that stay") {
  laws::check_layer<laws::adapted<gated_mlp<7, 11, false, all>>>({.half = 7e-2});
  laws::check_layer<laws::adapted<gated_mlp<8, 5, true, last>>>({.half = 7e-2});
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
