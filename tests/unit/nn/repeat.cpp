// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/repeat.hpp>

#include <motet/nn/mlp.hpp>
#include <motet/nn/residual.hpp>
#include <motet/nn/sequential.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

using block = residual<layer_norm<5>, mlp<5, 9>>;

}  // namespace

TEST_CASE("a layer repeated no, one, two and three times") {
  laws::check_layer<repeat<block, 0>>();
  laws::check_layer<repeat<block, 1>>();
  laws::check_layer<repeat<block, 2>>();
  laws::check_layer<repeat<block, 3>>({.half = 5e-2});
}

TEST_CASE("repeating is writing the layer out") { laws::check_equal_layers<repeat<block, 3>, sequential<block, block, block>>(); }

TEST_CASE("evaluation needs no more memory for more layers") {
  const auto peak = [](auto times) {
    using net = repeat<block, decltype(times)::value>;
    const sequences seq{3, 5, nullptr};
    const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size), x = laws::random_reals(75, "x");
    return laws::evaluate<fp64>(laws::layer_subject<net>{seq, seq}, laws::way::infer, 1, w, x, x, {}).used;
  };
  CHECK_EQ(peak(std::integral_constant<motet::index, 2>{}), peak(std::integral_constant<motet::index, 7>{}));
}
