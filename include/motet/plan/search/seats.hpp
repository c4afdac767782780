// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/strategy/mesh.hpp>

#include <algorithm>

namespace motet {

// A tower that wants ranks, and what its messages weigh.
struct seating {
  degrees split;
  double boundary_bytes = 0;  // that one rank sends to the next stage in a step, and gets back as gradients
  double gradient_bytes = 0;  // of one rank
  // the tower whose ranks it shares, the last of them, if it has fewer; -1: it has its own
  index with = -1;
  double feature_bytes = 0;  // of all its samples, that whoever meets it in joins gets in a step
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
      : left_(on.nodes), total_(ranks.size()) {
    for (const std::int32_t each : ranks) left_[on.node(each)].push(each);
    for (list<std::int32_t>& each : left_)
      sort_stably(each, [](std::int32_t a, std::int32_t b) { return a > b; });
  }
  void begin() { first_ = 0; }
  // Ranks are taken from the fullest node that has room for all `count`, else from the emptiest.
  void begin_anew(index count) {
    first_ = 0;
    for (index n = 1; n < left_.size(); ++n) {
      const index here = left_[n].size(), there = left_[first_].size();
      if (here >= count ? there < count || here < there : here > there) first_ = n;
    }
  }
  bool take(std::int32_t count, list<std::int32_t>& out) {
    if (total_ < count) return false;
    while (left_[first_].empty()) first_ = after(first_);
    index n = first_;
    for (index tries = 0; left_[n].size() < count; n = after(n))
      if (++tries == left_.size()) return false;
    for (std::int32_t i = 0; i < count; ++i, left_[n].pop(), --total_) out.push(left_[n].back());
    return true;
  }

 private:
  index after(index n) const { return n + 1 < left_.size() ? n + 1 : 0; }

  list<list<std::int32_t>> left_;  // of each node, the last one first
  index total_ = 0, first_ = 0;
};

// The ranks of a mesh; empty where its tensor groups do not fit into the nodes. A context group stays in a
// node where there is room for it.
inline list<std::int32_t> seat(const degrees& split, seat_order order, free_ranks& from) {
  if (order.anew) from.begin_anew(split.size());
  else from.begin();
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
      const index first = (index{stage} * split.data + replica) * shards;
      for (std::int32_t i = 0; i < shards; ++i) ranks[first + i] = slot[i];
    }
  }
  return ranks;
}

// Bytes that leave each node are added: rows and gradients between stages that lie apart, and sums of
// gradients in a ring of the nodes of each group.
inline void add_node_bytes(const seating& of, const list<std::int32_t>& ranks, const cluster_facts& on,
                           list<double>& into) {
  const mesh where(of.split, ranks);
  const std::int32_t shards = of.split.context * of.split.tensor;
  const auto at = [&](std::int32_t stage, std::int32_t replica, std::int32_t shard) {
    return on.node(ranks[(index{stage} * of.split.data + replica) * shards + shard]);
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
  for (index k = 0; k < towers.size(); ++k) {
    const index homes = ranks[k].size() / towers[k].split.stages;
    for (index i = ranks[k].size() - homes; i < ranks[k].size(); ++i)
      held[k][on.node(ranks[k][i])] += 1 / static_cast<double>(homes);
  }
  for (std::int32_t n = 0; n < on.nodes; ++n) {
    index here = 0, alone = -1;
    for (index k = 0; k < towers.size(); ++k)
      if (held[k][n] > 0) ++here, alone = k;
    for (index k = 0; k < towers.size() && here > 0; ++k)
      if (here > 1 || alone != k) into[n] += towers[k].feature_bytes * (1 - held[k][n]);
  }
}

inline double busiest_node(const list<seating>& towers, const list<list<std::int32_t>>& ranks,
                           const cluster_facts& on) {
  list<double> bytes(on.nodes, 0);
  for (index k = 0; k < towers.size(); ++k) add_node_bytes(towers[k], ranks[k], on, bytes);
  add_feature_bytes(towers, ranks, on, bytes);
  double most = 0;
  for (const double each : bytes) most = each > most ? each : most;
  return most;
}

// Towers one after the other, each in its order; false where one does not fit.
inline bool seat_all(const list<seating>& towers, const list<index>& turns, const list<seat_order>& orders,
                     const cluster_facts& on, seat_layout& out) {
  list<std::int32_t> all;
  for (std::int32_t r = 0; r < on.devices(); ++r) all.push(r);
  free_ranks left(on, all);
  out.ranks.resize(towers.size());
  for (const index k : turns) {
    if (towers[k].with >= 0) continue;
    out.ranks[k] = seat(towers[k].split, orders[k], left);
    if (out.ranks[k].empty()) return false;
  }
  for (const index k : turns) {
    if (towers[k].with < 0) continue;
    const list<std::int32_t>& host = out.ranks[towers[k].with];
    const index wanted = towers[k].split.size();
    if (wanted > host.size()) return false;
    list<std::int32_t> own;
    own.append(host.data() + (host.size() - wanted), wanted);
    free_ranks shared(on, own);
    out.ranks[k] = seat(towers[k].split, orders[k], shared);
    if (out.ranks[k].empty()) return false;
  }
  out.node_bytes = busiest_node(towers, out.ranks, on);
  return true;
}

// Layouts have one pattern when the same positions share nodes and ranks, whatever these are called.
inline list<std::int32_t> pattern_of(const seat_layout& of, const cluster_facts& on) {
  list<std::int32_t> nodes(on.nodes, -1), ranks(on.devices(), -1), out;
  std::int32_t next_node = 0, next_rank = 0;
  for (const list<std::int32_t>& each : of.ranks) {
    for (const std::int32_t rank : each) {
      if (nodes[on.node(rank)] < 0) nodes[on.node(rank)] = next_node++;
      if (ranks[rank] < 0) ranks[rank] = next_rank++;
      out.push(nodes[on.node(rank)]);
      out.push(ranks[rank]);
    }
  }
  return out;
}

}  // namespace detail

}  // namespace motet
