// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/recompute.hpp>

#include <motet/nn/attention.hpp>
#include <motet/nn/mlp.hpp>
#include <motet/nn/repeat.hpp>
#include <motet/nn/residual.hpp>
#include <motet/nn/sequential.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

using block = sequential<residual<layer_norm<6>, self_attention<attention_config{.width = 6, .heads = 2}>>, residual<layer_norm<6>, mlp<6, 9>>>;

}  // namespace

TEST_CASE("a recomputed layer keeps the laws") {
  laws::check_layer<recompute<block>>();
  laws::check_layer<repeat<recompute<block>, 2>>({.half = 5e-2});
}

TEST_CASE("a recomputed layer is the plain layer") {
  laws::check_equal_layers<recompute<block>, block>();
  laws::check_equal_layers<repeat<recompute<block>, 3>, repeat<block, 3>>();
}

TEST_CASE("recomputation saves memory") {
  const auto peak = [](auto which) {
    using net = typename decltype(which)::type;
    const sequences seq{3, 5, nullptr};
    const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size), x = laws::random_reals(90, "x");
    return laws::evaluate<fp64>(laws::layer_subject<net>{seq, seq}, laws::way::whole, 1, w, x, x, laws::reals(w.size(), 0.0)).used;
  };
  CHECK_LT(2 * peak(std::type_identity<repeat<recompute<block>, 8>>{}), peak(std::type_identity<repeat<block, 8>>{}));
}
