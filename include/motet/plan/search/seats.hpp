// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/strategy/mesh.hpp>

#include <algorithm>
#include <functional>

namespace motet {

// A tower that wants ranks, and what its messages weigh.
struct seating {
  degrees split;
  double boundary_bytes = 0;  // that one rank sends to the next stage in a step, and gets back as gradients
  double gradient_bytes = 0;  // of one rank
  // the tower whose ranks it shares, the last of them, if it has fewer; -1: it has its own
  isize with = -1;
  double feature_bytes = 0;   // of all its samples, that whoever meets it in joins gets in a step
  std::uint32_t kinds = ~0u;  // of devices, which it may take
};

struct seat_layout {
  list<list<std::int32_t>> ranks;  // of each tower, in the order of a mesh
  double node_bytes = 0;           // that leave the busiest node in a step
};

// A tower takes its ranks in one of these orders.
struct seat_order {
  bool stages_together =
      // of one replica on neighbouring ranks, so that its rows stay in a node; else replicas of one stage, so
      // that sums of gradients do
      false;
  bool anew = false;  // in a node of its own where there is one, else where the last tower ended
  friend constexpr bool operator==(const seat_order&, const seat_order&) = default;
};

namespace detail {

// Ranks that are left, node after node. What is taken at once lies in one node, as a tensor group must.
class free_ranks {
 public:
  free_ranks(const cluster_facts& on, const list<std::int32_t>& ranks)
      : on_(on), left_(on.nodes, 0), begins_(on.nodes, 0), ranks_(ranks.size()), total_(ranks.size()) {
    for (const std::int32_t each : ranks) ++left_[on.node(each)];
    isize end = 0;
    for (isize n = 0; n < left_.size(); ++n) begins_[n] = end += left_[n];
    for (const std::int32_t each : ranks) ranks_[--begins_[on.node(each)]] = each;
    for (isize n = 0; n < left_.size(); ++n) {
      std::int32_t *const first = ranks_.data() + begins_[n], *const last = first + left_[n];
      if (!std::is_sorted(first, last, std::greater())) std::sort(first, last, std::greater());
    }
    begin();
  }
  // Only ranks of these kinds of devices are taken from now on.
  void begin(std::uint32_t kinds = ~0u) { begin_at(0, kinds); }
  // Ranks are taken from the fullest node that has room for all `count`, else from the emptiest.
  void begin_anew(isize count, std::uint32_t kinds = ~0u) {
    kinds_ = kinds;
    isize first = 0;
    while (first + 1 < left_.size() && !allows(first)) ++first;
    for (isize n = first + 1; n < left_.size(); ++n) {
      const isize here = left_[n], there = left_[first];
      if (!allows(n)) continue;
      if (here >= count ? there < count || here < there : here > there) first = n;
    }
    begin_at(first, kinds);
  }
  bool take(std::int32_t count, list<std::int32_t>& out) {
    if (total_ < count) return false;
    while (passed_.size() <= count) passed_.push(0);
    // Nodes only get emptier: those that had no room for so many never will.
    isize& from = passed_[count];
    while (from < left_.size() && (left_[node(from)] < count || !allows(node(from)))) ++from;
    if (from == left_.size()) return false;
    const isize n = node(from);
    for (std::int32_t i = 0; i < count; ++i) out.push(ranks_[begins_[n] + --left_[n]]);
    total_ -= count;
    return true;
  }

 private:
  bool allows(isize node) const {
    return on_.more_runs == 0 || (kinds_ & on_.kind_bit(static_cast<std::int32_t>(node))) != 0;
  }
  void begin_at(isize first, std::uint32_t kinds) {
    kinds_ = kinds;
    first_ = first;
    passed_.clear();
  }
  // The nodes behind the first one, and round to it again.
  isize node(isize passed) const {
    return first_ + passed < left_.size() ? first_ + passed : first_ + passed - left_.size();
  }

  const cluster_facts& on_;
  std::uint32_t kinds_ = ~0u;
  list<std::int32_t> left_;   // how many of each node
  list<isize> begins_;        // of each node in `ranks_`, where the last one comes first
  list<std::int32_t> ranks_;  // node after node
  list<isize> passed_;        // of each number of ranks, the nodes without room for so many
  isize total_ = 0, first_ = 0;
};

// The ranks of a mesh; empty where its tensor groups do not fit into the nodes. A context group stays in a
// node where there is room for it.
inline list<std::int32_t> seat(const seating& of, seat_order order, free_ranks& from) {
  const degrees& split = of.split;
  if (order.anew) from.begin_anew(split.size(), of.kinds);
  else from.begin(of.kinds);
  const std::int32_t outer = order.stages_together ? split.data : split.stages,
                     inner = order.stages_together ? split.stages : split.data;
  const std::int32_t shards = split.context * split.tensor;
  list<std::int32_t> ranks(split.size(), -1), slot;
  for (std::int32_t a = 0; a < outer; ++a) {
    for (std::int32_t b = 0; b < inner; ++b) {
      const std::int32_t stage = order.stages_together ? b : a, replica = order.stages_together ? a : b;
      slot.clear();
      for (std::int32_t c = 0; slot.size() < shards; c += split.tensor)
        if ((c > 0 || !from.take(shards, slot)) && !from.take(split.tensor, slot)) return {};
      const isize first = (isize{stage} * split.data + replica) * shards;
      for (std::int32_t i = 0; i < shards; ++i) ranks[first + i] = slot[i];
    }
  }
  return ranks;
}

// Bytes that leave each node are added: rows and gradients between stages that lie apart, and sums of
// gradients in a ring of the nodes of each group.
inline void add_node_bytes(const seating& of, const list<std::int32_t>& ranks, const cluster_facts& on,
                           list<double>& into) {
  const std::int32_t shards = of.split.context * of.split.tensor;
  const auto at = [&](std::int32_t stage, std::int32_t replica, std::int32_t shard) {
    return on.node(ranks[(isize{stage} * of.split.data + replica) * shards + shard]);
  };
  list<std::int32_t> seen(on.nodes, -1), members;
  for (std::int32_t s = 0; s < of.split.stages; ++s) {
    for (std::int32_t r = 0; s + 1 < of.split.stages && r < of.split.data; ++r) {
      for (std::int32_t k = 0; k < shards; ++k) {
        const std::int32_t here = at(s, r, k), there = at(s + 1, r, k);
        if (here == there) continue;
        into[here] += of.boundary_bytes;
        into[there] += of.boundary_bytes;
      }
    }
    for (std::int32_t t = 0; t < of.split.tensor; ++t) {
      members.clear();
      const std::int32_t mark = s * of.split.tensor + t;
      for (std::int32_t r = 0; r < of.split.data; ++r)
        for (std::int32_t c = 0; c < of.split.context; ++c)
          if (std::int32_t& last = seen[at(s, r, c * of.split.tensor + t)]; last != mark) {
            last = mark;
            members.push(at(s, r, c * of.split.tensor + t));
          }
      const auto nodes = static_cast<double>(members.size());
      for (const std::int32_t each : members) into[each] += 2 * (nodes - 1) / nodes * of.gradient_bytes;
    }
  }
}

// Features come once into each node where the last stage of another tower is.
inline void add_feature_bytes(const list<seating>& towers, const list<list<std::int32_t>>& ranks,
                              const cluster_facts& on, list<double>& into) {
  list<list<double>> held(towers.size(), list<double>(on.nodes, 0));
  for (isize k = 0; k < towers.size(); ++k) {
    const isize homes = ranks[k].size() / towers[k].split.stages;
    for (isize i = ranks[k].size() - homes; i < ranks[k].size(); ++i)
      held[k][on.node(ranks[k][i])] += 1 / static_cast<double>(homes);
  }
  for (std::int32_t n = 0; n < on.nodes; ++n) {
    isize here = 0, alone = -1;
    for (isize k = 0; k < towers.size(); ++k)
      if (held[k][n] > 0) ++here, alone = k;
    for (isize k = 0; k < towers.size() && here > 0; ++k)
      if (here > 1 || alone != k) into[n] += towers[k].feature_bytes * (1 - held[k][n]);
  }
}

inline double busiest_node(const list<seating>& towers, const list<list<std::int32_t>>& ranks,
                           const cluster_facts& on) {
  list<double> bytes(on.nodes, 0);
  for (isize k = 0; k < towers.size(); ++k) add_node_bytes(towers[k], ranks[k], on, bytes);
  add_feature_bytes(towers, ranks, on, bytes);
  double most = 0;
  for (const double each : bytes) most = each > most ? each : most;
  return most;
}

// Towers one after the other, each in its order; false where one does not fit. `all` are the cluster's ranks.
inline bool seat_all(const list<seating>& towers, const list<isize>& turns, const list<seat_order>& orders,
                     const cluster_facts& on, const free_ranks& all, seat_layout& out) {
  free_ranks left = all;
  out.ranks.resize(towers.size());
  for (const isize k : turns) {
    if (towers[k].with >= 0) continue;
    out.ranks[k] = seat(towers[k], orders[k], left);
    if (out.ranks[k].empty()) return false;
  }
  for (const isize k : turns) {
    if (towers[k].with < 0) continue;
    const list<std::int32_t>& host = out.ranks[towers[k].with];
    const isize wanted = towers[k].split.size();
    if (wanted > host.size()) return false;
    list<std::int32_t> own;
    own.append(host.data() + (host.size() - wanted), wanted);
    free_ranks shared(on, own);
    out.ranks[k] = seat(towers[k], orders[k], shared);
    if (out.ranks[k].empty()) return false;
  }
  out.node_bytes = busiest_node(towers, out.ranks, on);
  return true;
}

// Layouts have one pattern when the same positions share nodes and ranks, whatever these are called, and are
// of the same kinds.
inline list<std::int32_t> pattern_of(const seat_layout& of, const cluster_facts& on) {
  list<std::int32_t> nodes(on.nodes, -1), ranks(on.devices(), -1), out;
  std::int32_t next_node = 0, next_rank = 0;
  for (const list<std::int32_t>& each : of.ranks) {
    for (const std::int32_t rank : each) {
      if (nodes[on.node(rank)] < 0) nodes[on.node(rank)] = next_node++;
      if (ranks[rank] < 0) ranks[rank] = next_rank++;
      out.push(nodes[on.node(rank)]);
      if (on.more_runs > 0) out.push(on.kind(on.node(rank)));
      out.push(ranks[rank]);
    }
  }
  return out;
}

}  // namespace detail

}  // namespace motet
