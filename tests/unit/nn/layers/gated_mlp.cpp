// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/gated_mlp.hpp>

#include <motet/nn/compose/residual.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("gated mlp, alone and as a branch") {
  laws::check_layer<gated_mlp<7, 11>>();
  laws::check_layer<gated_mlp<3, 1, false>>();
  laws::check_layer<residual<rms_norm<8>, gated_mlp<8, 5, false>>>();
}
