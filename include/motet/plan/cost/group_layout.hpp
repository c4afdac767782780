// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_kinds.hpp>

#include <algorithm>

namespace motet {

// The ranks of a group stand so: `per_node` of them in each of `nodes`. As many groups as `sharers`, this
// one among them, use each node's way out at the same time. They are of these kinds of devices, of which the
// slowest counts.
struct group_layout {
  std::int32_t nodes = 1;
  std::int32_t per_node = 1;
  std::int32_t sharers = 1;
  std::uint32_t kinds = 1;
  constexpr std::int32_t ranks() const { return nodes * per_node; }
  friend constexpr bool operator==(const group_layout&, const group_layout&) = default;
};

namespace detail {

// visit(node, ranks on it) for every node that some of the ranks stand on.
template <class Visit>
void each_node(const list<std::int32_t>& ranks, const cluster_facts& on, Visit visit) {
  list<std::int32_t> nodes;
  for (const std::int32_t rank : ranks) nodes.push(on.node(rank));
  std::sort(nodes.begin(), nodes.end());
  for (isize i = 0, first = 0; i < nodes.size(); ++i) {
    if (i + 1 < nodes.size() && nodes[i + 1] == nodes[i]) continue;
    visit(nodes[i], static_cast<std::int32_t>(i + 1 - first));
    first = i + 1;
  }
}

}  // namespace detail

// The group is alone. Where nodes hold unequally many of its ranks, all count as the fullest.
inline group_layout layout_of(const list<std::int32_t>& ranks, const cluster_facts& on) {
  std::int32_t nodes = 0, most = 1;
  detail::each_node(ranks, on,
                    [&](std::int32_t, std::int32_t held) { ++nodes, most = std::max(most, held); });
  return {std::max(nodes, 1), most, 1, std::max(kinds_of(ranks, on), 1u)};
}

}  // namespace motet
