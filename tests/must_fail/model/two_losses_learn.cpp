// SPDX-License-Identifier: Apache-2.0
// expect: motet: one loss of a model at most has numbers that it learns; see the words of the_rule_is_broken [MT-M18]
#include "small_graph.hpp"

// Compares, and learns nothing itself.
struct plain : info_nce {
  static constexpr isize parameter_size = 0;
  static void parameters(parameter_list&) {}
};
#ifdef MOTET_BREAK
using second = pairwise_sigmoid;
#else
using second = plain;
#endif
template <fixed_string Name>
using seen = module<Name, vit<sight>>;
using net = model<modules<seen<"one">, seen<"two">, seen<"three">, seen<"four">>,
                  loss<info_nce, "one", "two">, loss<second, "three", "four">>;

static_assert(net::size > 0);
