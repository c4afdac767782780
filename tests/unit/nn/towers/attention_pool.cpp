// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/attention_pool.hpp>

#include <motet/nn/towers/pool.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("attention pooling, alone and after a norm") {
  laws::check_layer<attention_pool<attention_config{.width = 8, .heads = 2}>, true>();
  laws::check_layer<attention_pool<attention_config{.width = 5, .heads = 3, .head_width = 2, .bias = false}>,
                    true>();
  laws::check_layer<
      reduce_head<layer_norm<8>, attention_pool<attention_config{.width = 8, .heads = 4, .kv_heads = 2}>>,
      true>();
}
