// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/projection.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("projection to unit rows") {
  laws::check_layer<projection<7, 5>>();
  laws::check_layer<projection<3, 2>>();
}

TEST_CASE("rows have length one") {
  using head = projection<7, 5>;
  const sequences seq{4, 1, nullptr};
  const laws::reals w = laws::random_weights(layer::parameters_of<head>(), head::parameter_size);
  const auto found = laws::evaluate<fp64>(laws::layer_subject<head>{seq, seq}, laws::way::infer, 1, w,
                                          laws::random_reals(28, "x"), laws::reals(20), {});
  for (std::size_t r = 0; r < 4; ++r) {
    double square = 0;
    for (std::size_t c = 0; c < 5; ++c) square += found.y[5 * r + c] * found.y[5 * r + c];
    CHECK(square == doctest::Approx(1).epsilon(1e-12));
  }
}
