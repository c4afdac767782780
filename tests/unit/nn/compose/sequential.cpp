// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/sequential.hpp>

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/layers/norm.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("one, two and three layers in a row") {
  laws::check_layer<sequential<linear<3, 5>>>();
  laws::check_layer<sequential<linear<3, 5, true, activation::gelu>, layer_norm<5>>>();
  laws::check_layer<
      sequential<linear<3, 5>, named<"mlp", residual<layer_norm<5>, mlp<5, 9>>>, linear<5, 2, false>>>();
}

TEST_CASE("parts are called by their name, or by their position") {
  std::vector<std::string> names;
  for (const parameter& p :
       layer::parameters_of<sequential<linear<3, 5>, named<"middle", rms_norm<5>>, linear<5, 2, false>>>(
           "net"))
    names.push_back(p.name);
  CHECK(names == std::vector<std::string>{"net.0.weight", "net.0.bias", "net.middle.weight", "net.2.weight"});
}
