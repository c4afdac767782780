// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/recompute.hpp>

#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "each_kernel.hpp"
#include "layer_laws.hpp"

using namespace motet;

namespace {

using block = sequential<residual<layer_norm<6>, self_attention<attention_config{.width = 6, .heads = 2}>>,
                         residual<layer_norm<6>, mlp<6, 9>>>;

}  // namespace

TEST_CASE("a recomputed layer keeps the laws") {
  laws::check_layer<recompute<block>>();
  laws::check_layer<repeat<recompute<block>, 2>>({.half = 3e-2});
}

TEST_CASE("a recomputed layer is the plain layer") {
  laws::check_equal_layers<recompute<block>, block>();
  laws::check_equal_layers<repeat<recompute<block>, 3>, repeat<block, 3>>();
}

TEST_CASE("what is computed again has the same bits as what is kept") {
  // Wide and long enough for whole tiles, their edges and several blocks of k, forward and in the gradients
  // of the weights.
  using wide = sequential<residual<layer_norm<48>, self_attention<attention_config{.width = 48, .heads = 2}>>,
                          residual<layer_norm<48>, mlp<48, 1100>>>;
  const sequences seq{110, 10, nullptr};
  const laws::reals w = laws::random_weights(layer::parameters_of<wide>(), wide::parameter_size),
                    x = laws::random_reals(seq.rows() * 48, "x");
  const laws::reals dy = laws::random_reals(seq.rows() * 48, "dy"), none(w.size(), 0.0);
  const auto check = [&](auto numbers, int threads) {
    using N = typename decltype(numbers)::type;
    const laws::outcome kept =
        laws::evaluate<N>(laws::layer_subject<wide>{seq, seq}, laws::way::whole, threads, w, x, dy, none);
    const laws::outcome again = laws::evaluate<N>(laws::layer_subject<recompute<wide>>{seq, seq},
                                                  laws::way::whole, threads, w, x, dy, none);
    CHECK_EQ(kept.y, again.y);
    CHECK_EQ(kept.dx, again.dx);
    CHECK_EQ(kept.g, again.g);
    return kept;
  };
  laws::with_each_kernel([&] {
    std::vector<laws::reals> outputs;
    for (int threads = 1; threads <= 4; ++threads) {
      INFO("threads " << threads);
      check(std::type_identity<fp32>{}, threads);
      outputs.push_back(check(std::type_identity<mixed_bf16>{}, threads).y);
      CHECK_EQ(outputs.back(), outputs.front());
    }
  });
}

TEST_CASE("recomputation saves memory") {
  const auto peak = [](auto which) {
    using net = typename decltype(which)::type;
    const sequences seq{3, 5, nullptr};
    const laws::reals w = laws::random_weights(layer::parameters_of<net>(), net::parameter_size),
                      x = laws::random_reals(90, "x");
    return laws::evaluate<fp64>(laws::layer_subject<net>{seq, seq}, laws::way::whole, 1, w, x, x,
                                laws::reals(w.size(), 0.0))
        .used;
  };
  CHECK_LT(2 * peak(std::type_identity<repeat<recompute<block>, 8>>{}),
           peak(std::type_identity<repeat<block, 8>>{}));
}
