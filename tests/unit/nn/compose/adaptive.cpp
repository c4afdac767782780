// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/adaptive.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "drawn_batch.hpp"
#include "goldens.hpp"

using namespace motet;

namespace {

using attend = self_attention<attention_config{.width = 12, .heads = 3}>;
using block = sequential<named<"attention", adaptive<attend>>,
                         named<"mlp", adaptive<mlp<12, 10, activation::gelu_tanh>>>>;

}  // namespace

TEST_CASE("a branch whose norm and gate hear the sample's condition") {
  laws::check_conditioned<adaptive<mlp<7, 9, activation::gelu_tanh>>>(true);
  laws::check_conditioned<adaptive<attend>>(true, {.half = 4e-2});
}

TEST_CASE("a block against PyTorch, with the gradient of its condition") {
  const laws::golden_file file("drawings");
  const sequences seq{3, 5, nullptr};
  laws::check_golden(file, "block", laws::layer_subject<block>{seq, seq});
}

TEST_CASE("at first a branch is left out") {
  const auto list = layer::parameters_of<adaptive<attend>>();
  laws::reals w(as_size(adaptive<attend>::parameter_size), laws::not_written);
  for (const parameter& each : list) {
    const bool zero = each.name.starts_with("modulation");
    CHECK((!zero || each.start.kind == fill::zeros));
    for (motet::isize i = 0; i < each.size(); ++i) w[as_size(each.offset + i)] = zero ? 0 : 0.5;
  }
  const sequences seq{2, 4, nullptr};
  const laws::reals x = laws::random_reals(seq.rows() * 12, "x"),
                    dy = laws::random_reals(seq.rows() * 12, "dy");
  const laws::outcome found = laws::evaluate<fp64>(laws::layer_subject<adaptive<attend>>{seq, seq},
                                                   laws::way::whole, 2, w, x, dy, laws::reals(w.size(), 0.0));
  CHECK(found.y == x);
  CHECK(found.dx == dy);
}
