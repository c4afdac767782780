// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/mlp.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("mlp") {
  laws::check_layer<mlp<7, 19>>();
  laws::check_layer<mlp<5, 1, activation::quick_gelu, false>>();
  laws::check_layer<mlp<3, 8, activation::relu>>();
}
