// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("mlp") {
  laws::check_layer<mlp<7, 19>>();
  // A row here is one hidden number, at -5.2 in the batch of one row: what bf16 may round it by (0.4 %) its
  // activation and slope show eight times.
  laws::check_layer<mlp<5, 1, activation::quick_gelu, false>>({.half = 4e-2});
  laws::check_layer<mlp<3, 8, activation::relu>>();
}
