// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/describe/plan.hpp>

namespace motet {

// The groups of a plan stand so in a cluster.

// One device of one replica's pipeline: a tensor and context group.
struct device_layout {
  group_layout tensor, context;
  group_layout experts;  // ranks of replicas that share experts with this one
  // messages to the next device that leave or enter a node together; 0: it is in the same node
  std::int32_t crossing = 0;
  std::uint32_t kinds = 1;  // of its ranks' devices
  friend constexpr bool operator==(const device_layout&, const device_layout&) = default;
};

struct module_layout {
  std::int32_t data = 1;
  list<device_layout> devices;  // of each (device of the pipeline, replica)
  // of each device of the pipeline, of those who sum a gradient: of several such groups the one that is
  // spread most, with the kinds of them all
  list<group_layout> sums;
  // likewise of those who sum a gradient of an expert, where replicas share experts
  list<group_layout> sums_of_experts;
  constexpr const device_layout& at(std::int32_t device, std::int32_t replica) const {
    return devices[isize{device} * data + replica];
  }
};

constexpr std::int32_t divided_up(std::int32_t a, std::int32_t b) { return (a + b - 1) / b; }

namespace detail {

// Counts on the nodes of a cluster; those behind the last one that was counted take no room, so that a few
// ranks of a large cluster cost little.
class node_counts {
 public:
  explicit node_counts(const cluster_facts& on) : on_(on) {}
  void add(std::int32_t rank) {
    const std::int32_t node = on_.node(rank);
    if (node >= counts_.size()) counts_.resize(node + 1, 0);
    ++counts_[node];
  }
  void forget(std::int32_t rank) { counts_[on_.node(rank)] = 0; }
  std::int32_t operator[](std::int32_t rank) const {
    const std::int32_t node = on_.node(rank);
    return node < counts_.size() ? counts_[node] : 0;
  }

 private:
  const cluster_facts& on_;
  list<std::int32_t> counts_;
};

inline void share_way_out(group_layout& group, const list<std::int32_t>& ranks, const node_counts& busy) {
  if (group.nodes < 2) return;
  for (const std::int32_t rank : ranks)
    group.sharers = std::max(group.sharers, divided_up(busy[rank], group.per_node));
}

// The kinds of all ranks of a (device, replica).
inline std::uint32_t kinds_of_device(const mesh& on, isize at, const cluster_facts& in) {
  if (in.more_runs == 0) return 1;
  const isize shards = isize{on.split().context} * on.split().tensor;
  std::uint32_t out = 0;
  for (isize i = 0; i < shards; ++i) out |= in.kind_bit(in.node(on.ranks()[at * shards + i]));
  return out;
}

// Finds the group that is spread most of those along an axis of one device of one replica, with the kinds of
// them all. All ranks of the module in a node use its way out together.
inline group_layout layout_of_axis(const mesh& on, axis along, std::int32_t device, std::int32_t replica,
                                   const cluster_facts& in, const node_counts& own) {
  const degrees& split = on.split();
  group_layout found;
  const std::int32_t groups = along == axis::tensor ? split.context : split.tensor;
  if ((along == axis::tensor ? split.tensor : split.context) == 1) return found;
  std::uint32_t kinds = 0;
  for (std::int32_t g = 0; g < groups; ++g) {
    const list<std::int32_t> ranks =
        on.group(along, {device, replica, along == axis::tensor ? g : 0, along == axis::tensor ? 0 : g});
    group_layout one = layout_of(ranks, in);
    share_way_out(one, ranks, own);
    kinds |= one.kinds;
    if (one.nodes > found.nodes || (one.nodes == found.nodes && one.per_node > found.per_node)) found = one;
  }
  found.kinds = kinds;
  return found;
}

// Finds the group that is spread most of the replicas that share experts with this one, or that have the same
// experts, each with these tensor parts, over all context parts.
inline group_layout layout_of_replicas(const module_plan& own, std::int32_t device, std::int32_t first,
                                       std::int32_t step, std::int32_t count, interval tensor, bool all_parts,
                                       const cluster_facts& in, const node_counts& busy) {
  group_layout found;
  std::uint32_t kinds = 0;
  list<std::int32_t> ranks;
  for (std::int32_t c = 0; c < own.on.split().context; ++c) {
    if (!all_parts) ranks = {};
    for (std::int32_t i = 0; i < count; ++i)
      for (isize t = tensor.begin; t < tensor.end; ++t)
        ranks.push(own.on.rank({device, first + i * step, c, static_cast<std::int32_t>(t)}));
    if (ranks.size() < 2 || (all_parts && c + 1 < own.on.split().context)) continue;
    group_layout one = layout_of(ranks, in);
    share_way_out(one, ranks, busy);
    kinds |= one.kinds;
    if (one.nodes > found.nodes || (one.nodes == found.nodes && one.per_node > found.per_node)) found = one;
  }
  if (kinds != 0) found.kinds = kinds;
  return found;
}

inline void find_crossings(const mesh& on, const cluster_facts& in, module_layout& out) {
  const degrees& split = on.split();
  const std::int32_t shards = split.context * split.tensor;
  if (split.stages < 2) return;
  const auto rank = [&](std::int32_t d, std::int32_t r, std::int32_t shard) {
    return on.ranks()[(isize{d} * split.data + r) * shards + shard];
  };
  node_counts leaving(in), entering(in);
  for (std::int32_t d = 0; d < split.stages; ++d) {
    const std::int32_t next = (d + 1) % split.stages;
    const auto each = [&](auto visit) {
      for (std::int32_t r = 0; r < split.data; ++r)
        for (std::int32_t shard = 0; shard < shards; ++shard)
          if (in.node(rank(d, r, shard)) != in.node(rank(next, r, shard)))
            visit(r, rank(d, r, shard), rank(next, r, shard));
    };
    each([&](std::int32_t, std::int32_t from, std::int32_t to) {
      leaving.add(from);
      entering.add(to);
    });
    each([&](std::int32_t r, std::int32_t from, std::int32_t to) {
      std::int32_t& own = out.devices[isize{d} * split.data + r].crossing;
      own = std::max({own, leaving[from], entering[to]});
    });
    each([&](std::int32_t, std::int32_t from, std::int32_t to) {
      leaving.forget(from);
      entering.forget(to);
    });
  }
}

}  // namespace detail

// Every module gets its layout. A rank sums one gradient at a time, so those who share a node's way out are
// as many as it has ranks whose sums leave it.
inline list<module_layout> plan_layouts(const plan& of, const cluster_facts& in) {
  list<module_layout> out;
  list<std::uint8_t> leaves(of.cluster.ranks, 0);
  const auto summing = [&](const module_plan& own, std::int32_t device, std::int32_t tensor) {
    list<std::int32_t> ranks;
    for (std::int32_t r = 0; r < own.on.split().data; ++r)
      for (std::int32_t c = 0; c < own.on.split().context; ++c)
        ranks.push(own.on.rank({device, r, c, tensor}));
    return ranks;
  };
  for (const module_plan& own : of.modules) {
    const degrees& split = own.on.split();
    module_layout made;
    made.data = split.data;
    made.devices.resize(isize{split.stages} * split.data);
    detail::node_counts ranks(in);
    for (const std::int32_t rank : own.on.ranks()) ranks.add(rank);
    for (std::int32_t d = 0; d < split.stages; ++d) {
      for (std::int32_t r = 0; r < split.data; ++r) {
        const isize at = isize{d} * split.data + r;
        made.devices[at] = {detail::layout_of_axis(own.on, axis::tensor, d, r, in, ranks),
                            detail::layout_of_axis(own.on, axis::context, d, r, in, ranks),
                            {},
                            0,
                            detail::kinds_of_device(own.on, at, in)};
        if (own.experts > 1)
          made.devices[at].experts = detail::layout_of_replicas(own, d, r - r % own.experts, 1, own.experts,
                                                                {0, split.tensor}, false, in, ranks);
      }
      for (std::int32_t t = 0; split.data * split.context > 1 && t < split.tensor; ++t) {
        const list<std::int32_t> group = summing(own, d, t);
        if (layout_of(group, in).nodes > 1)
          for (const std::int32_t rank : group) leaves[rank] = 1;
      }
    }
    detail::find_crossings(own.on, in, made);
    out.push(made);
  }
  detail::node_counts busy(in);
  for (std::int32_t rank = 0; rank < of.cluster.ranks; ++rank)
    if (leaves[rank] != 0) busy.add(rank);
  for (isize k = 0; k < of.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    for (std::int32_t d = 0; d < own.on.split().stages; ++d) {
      group_layout most;
      std::uint32_t kinds = 0;
      for (std::int32_t t = 0; t < own.on.split().tensor; ++t) {
        const list<std::int32_t> group = summing(own, d, t);
        group_layout one = layout_of(group, in);
        detail::share_way_out(one, group, busy);
        const auto spread = [](const group_layout& g) {
          return isize{g.nodes} * 65536 + isize{g.sharers} * g.per_node;
        };
        if (spread(one) > spread(most)) most = one;
        kinds |= one.kinds;
      }
      most.kinds = kinds;
      out[k].sums.push(most);
      if (own.experts == 1) continue;
      group_layout widest;
      const degrees& split = own.on.split();
      for (std::int32_t e = 0; e < own.experts; ++e)
        for (isize t = 0; t < split.tensor; ++t) {
          const group_layout one = detail::layout_of_replicas(
              own, d, e, own.experts, split.data / own.experts, {t, t + 1}, true, in, busy);
          if ((e == 0 && t == 0) || one.nodes > widest.nodes) widest = one;
        }
      out[k].sums_of_experts.push(widest);
    }
  }
  return out;
}

}  // namespace motet
