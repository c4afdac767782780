// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/group_layout.hpp>

#include <cmath>

// What collective operations take in a cluster: as many rounds as the algorithm has, each as long as its
// slowest message. Ranks have wires of their own in a node and share its way out; a group of several kinds
// has the slowest wires of them. docs/plan/cluster.md lists the formulas.

namespace motet {

struct collective_cost {
  double seconds = 0;
  double node_bytes = 0;  // that this group sends out of its busiest node
  friend constexpr bool operator==(const collective_cost&, const collective_cost&) = default;
};

namespace detail {

constexpr double step_inside(double bytes, const cluster_facts& on) {
  return on.inside.latency + on.inside.seconds(bytes);
}
// `bytes` out of each node, or into it, by so many of its ranks.
constexpr double crossing(double bytes, std::int32_t ranks, std::int32_t sharers, const cluster_facts& on) {
  return std::max(on.between.seconds(bytes * sharers), wire{0, on.of_device * ranks}.seconds(bytes));
}
constexpr double step_between(double bytes, const group_layout& group, const cluster_facts& on) {
  return on.between.latency + crossing(bytes, group.per_node, group.sharers, on);
}
constexpr int rounds_of_tree(std::int32_t ranks) {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= 2) ++rounds;
  return rounds;
}
constexpr collective_cost cheaper(collective_cost a, collective_cost b) {
  return b.seconds < a.seconds ? b : a;
}
constexpr collective_cost twice(collective_cost of) { return {2 * of.seconds, 2 * of.node_bytes}; }

}  // namespace detail

// Rings through all ranks, node after node: each part of the result passes every rank, and goes out of each
// node but one once.
constexpr collective_cost ring_gather_cost(double bytes, const group_layout& group, const cluster_facts& on) {
  if (on.more_runs > 0) return ring_gather_cost(bytes, group, of_kinds(on, group.kinds));
  const double rounds = group.ranks() - 1, part = bytes / group.ranks();
  if (group.nodes == 1) return {rounds * detail::step_inside(part, on), 0};
  const double inside = group.per_node > 1 ? detail::step_inside(part, on) : 0;
  return {rounds * std::max(inside, detail::step_between(part, group, on)), rounds * part};
}
// A ring through the nodes for each place in them, all of which share the way out; then a ring in every node.
constexpr collective_cost hierarchical_gather_cost(double bytes, const group_layout& group,
                                                   const cluster_facts& on) {
  if (on.more_runs > 0) return hierarchical_gather_cost(bytes, group, of_kinds(on, group.kinds));
  const double outside = group.nodes - 1, inside = group.per_node - 1, of_node = bytes / group.nodes;
  const double between = outside > 0 ? outside * detail::step_between(of_node, group, on) : 0;
  return {between + inside * detail::step_inside(bytes / group.per_node, on), outside * of_node};
}

// All parts of `bytes` to every rank of the group that holds them.
constexpr collective_cost all_gather_cost(double bytes, const group_layout& group, const cluster_facts& on) {
  if (on.more_runs > 0) return all_gather_cost(bytes, group, of_kinds(on, group.kinds));
  if (group.ranks() <= 1) return {};
  return detail::cheaper(ring_gather_cost(bytes, group, on), hierarchical_gather_cost(bytes, group, on));
}
// `bytes` of every rank are summed, each keeps its part: a gather played backward.
constexpr collective_cost reduce_scatter_cost(double bytes, const group_layout& group,
                                              const cluster_facts& on) {
  return all_gather_cost(bytes, group, on);
}
// Whole messages go down a tree of nodes and trees in them: the best for few bytes.
constexpr collective_cost tree_broadcast_cost(double bytes, const group_layout& group,
                                              const cluster_facts& on) {
  if (on.more_runs > 0) return tree_broadcast_cost(bytes, group, of_kinds(on, group.kinds));
  const double outside = detail::rounds_of_tree(group.nodes), inside = detail::rounds_of_tree(group.per_node);
  const group_layout heads{group.nodes, 1, group.sharers};
  return {outside * detail::step_between(bytes, heads, on) + inside * detail::step_inside(bytes, on),
          outside * bytes};
}
// `bytes` of every rank are summed, each keeps the sum.
// Asks for: bytes, and a group that lies evenly on nodes of the cluster.
// Memory: none beyond the result.
// Errors: none of its own.
// Example:
//   double seconds_of_sum(const cluster_facts& on) {
//     return all_reduce_cost(1e9, {.nodes = 2, .per_node = 8}, on).seconds;
//   }
constexpr collective_cost all_reduce_cost(double bytes, const group_layout& group, const cluster_facts& on) {
  if (on.more_runs > 0) return all_reduce_cost(bytes, group, of_kinds(on, group.kinds));
  if (group.ranks() <= 1) return {};
  return detail::cheaper(detail::twice(all_gather_cost(bytes, group, on)),
                         detail::twice(tree_broadcast_cost(bytes, group, on)));
}

// One rank sends to all along a chain, node after node, in as many pieces as are best.
inline collective_cost chain_broadcast_cost(double bytes, const group_layout& group,
                                            const cluster_facts& on) {
  if (on.more_runs > 0) return chain_broadcast_cost(bytes, group, of_kinds(on, group.kinds));
  const double outside = group.nodes - 1, inside = group.ranks() - group.nodes;
  const double within = inside > 0 ? on.inside.seconds(bytes) : 0,
               across = outside > 0 ? detail::crossing(bytes, 1, group.sharers, on) : 0;
  const double latencies = inside * on.inside.latency + outside * on.between.latency,
               whole = inside * within + outside * across;
  const double latency = std::max(inside > 0 ? on.inside.latency : 0, outside > 0 ? on.between.latency : 0),
               slowest = std::max(within, across);
  // The first of p pieces goes all the way, the others follow at the pace of the slowest wire.
  const auto seconds = [&](double p) { return latencies + whole / p + (p - 1) * (latency + slowest / p); };
  const double sent = outside > 0 ? bytes : 0;
  if (latency <= 0) return {slowest, sent};
  const double best = std::max(1.0, std::floor(std::sqrt((whole - slowest) / latency)));
  return {std::min(seconds(best), seconds(best + 1)), sent};
}
// `bytes` of one rank to all of its group.
inline collective_cost broadcast_cost(double bytes, const group_layout& group, const cluster_facts& on) {
  if (on.more_runs > 0) return broadcast_cost(bytes, group, of_kinds(on, group.kinds));
  if (group.ranks() <= 1) return {};
  return detail::cheaper(chain_broadcast_cost(bytes, group, on), tree_broadcast_cost(bytes, group, on));
}

// Every rank holds `bytes`, an equal part for each rank of the group: a message for each pair, or between
// nodes only of ranks with equal places.
constexpr collective_cost all_to_all_cost(double bytes, const group_layout& group, const cluster_facts& on) {
  if (on.more_runs > 0) return all_to_all_cost(bytes, group, of_kinds(on, group.kinds));
  if (group.ranks() <= 1) return {};
  const double outside = group.nodes - 1, inside = group.per_node - 1, part = bytes / group.ranks();
  const double pairs = outside * group.per_node, of_ranks = part * group.per_node,
               of_node = of_ranks * group.per_node;
  const double directly = std::max(inside * detail::step_inside(part, on),
                                   pairs > 0 ? pairs * detail::step_between(of_ranks, group, on) : 0);
  const double by_places = inside * detail::step_inside(bytes / group.per_node, on) +
                           (outside > 0 ? outside * detail::step_between(of_node, group, on) : 0);
  return {std::min(directly, by_places), outside * of_node};
}

// Parts of `bytes` lie on the ranks of `from`, and every rank of `to`, on other nodes, wants all of them:
// each fetches its own copy.
constexpr collective_cost fetched_cost(double bytes, const group_layout& from, const group_layout& to,
                                       const cluster_facts& on) {
  if (on.more_runs > 0) return fetched_cost(bytes, from, to, of_kinds(on, from.kinds | to.kinds));
  const double out = bytes / from.nodes * to.ranks(), in = bytes * to.per_node;
  return {on.between.latency * std::max(from.ranks(), to.ranks()) +
              std::max(detail::crossing(out, from.per_node, from.sharers, on),
                       detail::crossing(in, to.per_node, to.sharers, on)),
          out};
}
// This is the cost of the best way. Each byte enters a node once when every rank of `to` fetches a part and
// they gather, or one of each node fetches all.
inline collective_cost deliver_cost(double bytes, const group_layout& from, const group_layout& to,
                                    const cluster_facts& on) {
  if (on.more_runs > 0) return deliver_cost(bytes, from, to, of_kinds(on, from.kinds | to.kinds));
  const double out = bytes / from.nodes, in = bytes / to.nodes,
               messages = std::max(1.0, static_cast<double>(from.ranks()) / to.ranks());
  const double scatter =
      on.between.latency * messages + std::max(detail::crossing(out, from.per_node, from.sharers, on),
                                               detail::crossing(in, to.per_node, to.sharers, on));
  const collective_cost gather = all_gather_cost(bytes, to, on);
  const collective_cost once = fetched_cost(bytes, from, {to.nodes, 1, to.sharers}, on);
  const collective_cost by_parts{scatter + gather.seconds, std::max(out, gather.node_bytes)};
  const collective_cost by_heads{once.seconds + broadcast_cost(bytes, {1, to.per_node, 1}, on).seconds,
                                 once.node_bytes};
  return detail::cheaper(fetched_cost(bytes, from, to, on), detail::cheaper(by_parts, by_heads));
}

constexpr double all_gather_seconds(double bytes, const group_layout& group, const cluster_facts& on) {
  return all_gather_cost(bytes, group, on).seconds;
}
constexpr double reduce_scatter_seconds(double bytes, const group_layout& group, const cluster_facts& on) {
  return reduce_scatter_cost(bytes, group, on).seconds;
}
constexpr double all_reduce_seconds(double bytes, const group_layout& group, const cluster_facts& on) {
  return all_reduce_cost(bytes, group, on).seconds;
}
constexpr double all_to_all_seconds(double bytes, const group_layout& group, const cluster_facts& on) {
  return all_to_all_cost(bytes, group, on).seconds;
}
inline double broadcast_seconds(double bytes, const group_layout& group, const cluster_facts& on) {
  return broadcast_cost(bytes, group, on).seconds;
}
inline double deliver_seconds(double bytes, const group_layout& from, const group_layout& to,
                              const cluster_facts& on) {
  return deliver_cost(bytes, from, to, on).seconds;
}

}  // namespace motet
