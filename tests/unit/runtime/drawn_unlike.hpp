// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <iterator>

namespace {

using namespace motet;

// Where gradients are shared, half of the plans share weights as well.
inline int with_weights(int zero, const random_stream& draw, std::uint64_t number) {
  return zero < 2 ? zero : 2 + static_cast<int>(draw.below(number, 2));
}

// Modules that cut samples unlike: data, tensor and microbatches each of its own, on any ranks. Few of them
// divide the batch; some have ranks without a sample in a microbatch.
template <class Model>
plan drawn_unlike(std::uint64_t seed) {
  const random_stream draw(seed, "unlike"), shares(seed, "shares"), whole(seed, "whole");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<int>(draw.below(at++, most)); };
  plan out;
  out.cluster.ranks = 4;
  out.schedule = below(3) == 0 ? "gpipe" : "1f1b";
  struct cut {
    int data, tensor, context, parts;
  };
  constexpr cut cuts[] = {{1, 1, 1, 1}, {1, 1, 1, 2},  {1, 1, 1, 3}, {1, 1, 1, 4}, {1, 1, 1, 5}, {1, 1, 1, 7},
                          {1, 1, 1, 9}, {1, 1, 1, 12}, {2, 1, 1, 1}, {2, 1, 1, 3}, {2, 1, 1, 5}, {3, 1, 1, 1},
                          {3, 1, 1, 2}, {3, 1, 1, 3},  {4, 1, 1, 1}, {4, 1, 1, 2}, {1, 2, 1, 1}, {1, 2, 1, 3},
                          {1, 2, 1, 5}, {2, 2, 1, 1},  {2, 2, 1, 4}, {1, 1, 2, 1}, {1, 1, 2, 3}, {1, 1, 2, 5},
                          {1, 1, 3, 2}, {1, 1, 4, 1},  {1, 1, 4, 5}, {2, 1, 2, 2}, {2, 1, 2, 5}, {1, 2, 2, 1},
                          {1, 2, 2, 3}, {1, 2, 2, 7}};
  for (std::size_t k = 0; k < Model::size; ++k) {
    cut of = cuts[below(std::size(cuts))];
    // Rows pass through a layer one by one.
    if (Model::through[k]) of.context = 1;
    const int copies = of.data * of.tensor * of.context,
              most = Model::through[k] ? 1 : std::min(2, 4 / copies),
              stages = 1 + below(static_cast<std::uint32_t>(most)),
              first = below(static_cast<std::uint32_t>(4 - copies * stages + 1));
    list<std::int32_t> ranks;
    for (int r = 0; r < copies * stages; ++r) ranks.push(first + r);
    module_plan own;
    own.name = label(Model::names[k]);
    own.on = mesh({.stages = stages, .data = of.data, .context = of.context, .tensor = of.tensor}, ranks);
    own.microbatches = of.parts;
    own.balanced = below(2) == 0;
    if (of.context > 1) {
      const int from = static_cast<int>(whole.below(k, 4));
      own.long_rows = from == 3 ? long_rows_chosen : 6 * from;
    }
    own.group = 1;
    if (of.data > 1 && !Model::frozen[k]) own.zero = with_weights(below(3), shares, k);
    out.modules.push(own);
  }
  return out;
}

}  // namespace
