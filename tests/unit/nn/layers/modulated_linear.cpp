// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/modulated_linear.hpp>

#include "drawn_batch.hpp"

using namespace motet;

static_assert(modulated_linear<7, 5>::in == 7 && modulated_linear<7, 5>::out == 5);

TEST_CASE("rows are modulated by their condition, and a product makes numbers of them") {
  laws::check_conditioned<modulated_linear<7, 5>>(false);
}

TEST_CASE("an end says nothing at first") {
  for (const parameter& each : layer::parameters_of<modulated_linear<7, 5>>())
    CHECK(each.start.kind == fill::zeros);
}
