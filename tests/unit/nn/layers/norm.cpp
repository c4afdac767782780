// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/norm.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("layer norm and RMS norm") {
  laws::check_layer<layer_norm<9>>();
  laws::check_layer<norm<32, norm_config{norm_kind::layer, 1e-3f}>>();
  laws::check_layer<rms_norm<9>>();
  laws::check_layer<norm<2, norm_config{norm_kind::rms, 1e-2f}>>();
}

TEST_CASE("norms have no decayed parameter") {
  for (const parameter& p : layer::parameters_of<layer_norm<9>>("norm")) {
    CHECK(!p.decay);
    CHECK(p.vector);
  }
  CHECK_EQ(layer::parameters_of<rms_norm<9>>().size(), 1);
}
