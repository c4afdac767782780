// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/attention.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

using namespace motet;

constexpr refused<attention_config> wrong[] = {
    {{.width = 12, .heads = 5}, reason::heads_do_not_divide, 5, 12},
    {{.width = 12, .heads = 6, .kv_heads = 4}, reason::kv_heads_do_not_divide, 4, 6},
    {{.width = 12, .heads = 4, .rotary = 100}, reason::odd_rotary_width, 3, 4},
    {{.width = 0}, reason::not_positive, 0, 1},
    {{.width = 12, .heads = -3}, reason::not_positive, -3, 1},
    {{.width = 12, .heads = 4, .kv_heads = -2}, reason::not_positive, -2, 0},
    {{.width = 12, .heads = 4, .head_width = -1}, reason::not_positive, -1, 0},
};
static_assert(are_refused(wrong));
static_assert(check(attention_config{.width = 12, .heads = 5, .head_width = 3}).ok());

TEST_CASE("heads that a width cannot have") { check_refused(wrong); }

// Four ranks hold 6 heads with 3 pairs of keys and values, and 25 heads.
constexpr attention_config grouped{.width = 12, .heads = 6, .kv_heads = 3};
static_assert(grouped.held({4, 0}).heads == 2 && grouped.held({4, 0}).kv_heads == 1 &&
              grouped.held({4, 0}).key_width() == 2);
static_assert(grouped.held({4, 3}).heads == 0 && grouped.held({4, 3}).query_width() == 0 &&
              grouped.held({4, 3}).key_width() == 0);
static_assert(grouped.held({2, 0}).heads == 4 && grouped.held({1, 0}).query_width() == 12);
constexpr attention_config odd{.width = 16, .heads = 25, .head_width = 3};
static_assert(odd.held({4, 0}).heads == 7 && odd.held({4, 3}).heads == 6 &&
              odd.held({4, 3}).shape().kv_heads == 6);

TEST_CASE("one head, several heads, with and without a causal mask") {
  laws::check_layer<self_attention<attention_config{.width = 5, .heads = 1}>>();
  laws::check_layer<self_attention<attention_config{.width = 12, .heads = 3, .mask = mask_kind::causal}>>();
}

TEST_CASE("grouped queries, rotary positions, no bias") {
  laws::check_layer<
      self_attention<attention_config{.width = 12, .heads = 6, .kv_heads = 2, .bias = false}>>();
  laws::check_layer<self_attention<attention_config{
      .width = 8, .heads = 2, .kv_heads = 1, .mask = mask_kind::causal, .rotary = 100}>>();
}

TEST_CASE("25 heads on a width that they do not divide") {
  using many = self_attention<attention_config{.width = 16, .heads = 25, .head_width = 3}>;
  static_assert(many::query == 75);
  laws::check_layer<many>();
}
