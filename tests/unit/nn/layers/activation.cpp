// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/activation.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("activations as layers") {
  laws::check_layer<activate<9, activation::none>>();
  laws::check_layer<activate<9, activation::gelu>>();
  laws::check_layer<activate<1, activation::gelu_tanh>>();
  laws::check_layer<activate<9, activation::quick_gelu>>();
  laws::check_layer<activate<9, activation::relu>>();
  laws::check_layer<activate<17, activation::silu>>();
}
