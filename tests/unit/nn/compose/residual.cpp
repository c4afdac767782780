// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/residual.hpp>

#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

using namespace motet;

TEST_CASE("residual branches of a transformer block") {
  laws::check_layer<residual<layer_norm<7>, mlp<7, 19>>>();
  laws::check_layer<residual<
      rms_norm<12>, self_attention<attention_config{.width = 12, .heads = 3, .mask = mask_kind::causal}>>>();
}

TEST_CASE("a branch that adds nothing leaves the rows as they are") {
  using branch = residual<layer_norm<6>, mlp<6, 8>>;
  const sequences seq{2, 3, nullptr};
  auto list = layer::parameters_of<branch>();
  laws::reals w = laws::random_weights(list, branch::parameter_size);
  for (const parameter& p : list)
    if (p.name.starts_with("down"))
      for (motet::isize i = 0; i < p.size(); ++i) w[static_cast<std::size_t>(p.offset + i)] = 0;
  const laws::reals x = laws::random_reals(36, "x"), none(w.size(), 0.0);
  const auto found =
      laws::evaluate<fp64>(laws::layer_subject<branch>{seq, seq}, laws::way::whole, 1, w, x, x, none);
  CHECK(found.y == x);
  CHECK(found.dx == x);
}
