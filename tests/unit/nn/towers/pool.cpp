// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/pool.hpp>

#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr attention_config plain{.width = 8, .heads = 2};
using norm8 = layer_norm<8>;
using mix8 = mlp<8, 11>;

// The last block in full and then the pick and the norm, with the names of picked_block_head.
template <pick Which>
struct full_block_head
    : sequential<residual<norm8, self_attention<plain>>, residual<norm8, mix8>, pick_head<norm8, Which>> {
  static void parameters(parameter_list& list) {
    list.child<residual<norm8, self_attention<plain>>>("blocks.3.attention");
    list.child<residual<norm8, mix8>>("blocks.3.mlp");
    list.child<norm8>("norm");
  }
};

}  // namespace

TEST_CASE("heads keep the laws") {
  laws::check_layer<pick_head<norm8, pick::first>, true>();
  laws::check_layer<pick_head<rms_norm<8>, pick::last>, true>();
  laws::check_layer<mean_pool<5>, true>();
  laws::check_layer<reduce_head<norm8, mean_pool<8>>, true>();
}

TEST_CASE("the last block for the picked row alone keeps the laws") {
  laws::check_layer<picked_block_head<norm8, plain, mix8, pick::first, 3>, true>();
}

TEST_CASE("the last block for the picked row alone is the full block and a pick") {
  laws::check_equal_layers<picked_block_head<norm8, plain, mix8, pick::first, 3>,
                           full_block_head<pick::first>, true>();
  laws::check_equal_layers<picked_block_head<norm8, plain, mix8, pick::last, 3>, full_block_head<pick::last>,
                           true>();
}
