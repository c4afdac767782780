// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/resting.hpp>

#include <motet/nn/layers/norm.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

using still = resting<layer_norm<9>>;
laws::outcome run(const laws::reals& w, const laws::reals& x, const laws::reals& dy, laws::way how) {
  const sequences seq{2, 3, nullptr};
  return laws::evaluate<fp64>(laws::layer_subject<still>{seq, seq}, how, 2, w, x, dy,
                              laws::reals(w.size(), 0.5));
}

}  // namespace

static_assert(rests<still> && !rests<layer_norm<9>>);
static_assert(std::is_same_v<resting_if<layer_norm<9>, false>, layer_norm<9>>);
static_assert(std::is_same_v<resting_if<layer_norm<9>, true>, still>);

TEST_CASE("gradients go through a layer that rests, and none of its own is touched") {
  const auto list = layer::parameters_of<layer_norm<9>>();
  CHECK(layer::parameters_of<still>().size() == list.size());
  const laws::reals w = laws::random_weights(list, still::parameter_size), x = laws::random_reals(54, "x"),
                    dy = laws::random_reals(54, "dy"), kept(w.size(), 0.5);
  const sequences seq{2, 3, nullptr};
  const laws::outcome learns =
      laws::evaluate<fp64>(laws::layer_subject<layer_norm<9>>{seq, seq}, laws::way::whole, 1, w, x, dy, kept);
  CHECK(learns.g != kept);
  for (const laws::way how : {laws::way::whole, laws::way::split}) {
    const laws::outcome found = run(w, x, dy, how);
    CHECK(found.y == learns.y);
    CHECK(laws::apart(found.dx, learns.dx) <= 1e-14);
    CHECK(found.g == kept);
  }
}
