// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/plan_costs.hpp>

namespace motet {

namespace detail {

// What leaves each node in a step, but for joins: of the busiest node of each kind.
class traffic_counter {
 public:
  explicit traffic_counter(const plan_pricer& by)
      : by_(by), on_(by.cluster()), out_(on_.nodes, 0), known_(on_.nodes, 0) {}

  list<double> busiest() {
    for (isize k = 0; k < by_.whole().modules.size(); ++k) {
      if (by_.model().towers[k].cached) continue;
      boundaries(k);
      groups(k);
      sums(k);
    }
    list<double> most(on_.kinds(), 0);
    for (isize n = 0; n < out_.size(); ++n) {
      double& own = most[on_.kind(static_cast<std::int32_t>(n))];
      own = std::max(own, out_[n]);
    }
    return most;
  }

 private:
  void add(const list<std::int32_t>& ranks, double bytes) {
    ++groups_;
    for (const std::int32_t rank : ranks) {
      isize& last = known_[on_.node(rank)];
      if (last != groups_) out_[on_.node(rank)] += bytes;
      last = groups_;
    }
  }
  void boundaries(isize k) {
    const module_plan& own = by_.whole().modules[k];
    const degrees& split = own.on.split();
    const std::int32_t shards = own.shards();
    const double microbatches = own.microbatches,
                 again = own.stash >= 0 ? 1 - static_cast<double>(own.stash) / own.whole_group() : 0;
    const double bytes = by_.boundary_bytes(k) * microbatches;
    for (std::int32_t d = 0; d < split.stages && split.stages > 1; ++d) {
      const std::int32_t next = (d + 1) % split.stages;
      const double messages = own.fills ? next > 0 : next > 0 ? own.chunks : own.chunks - 1;
      for (std::int32_t i = 0; i < split.data * shards; ++i) {
        const std::int32_t from = on_.node(own.on.ranks()[isize{d} * split.data * shards + i]);
        const std::int32_t to = on_.node(own.on.ranks()[isize{next} * split.data * shards + i]);
        if (from == to) continue;
        out_[from] += messages * bytes * (1 + (by_.learns(k) ? again : 0));
        if (by_.learns(k)) out_[to] += messages * bytes;
      }
    }
  }
  void groups(isize k) {
    const module_plan& own = by_.whole().modules[k];
    const degrees& split = own.on.split();
    const double numbers = own.microbatches * by_.largest_microbatch(k) * by_.bytes().activation;
    for (std::int32_t d = 0; d < split.stages; ++d) {
      double tensor = 0, context = 0, experts = 0;
      for (int c = 0; c < own.chunks; ++c) {
        const isize s = own.stage(d, c);
        const part_work work = by_.work(k, s);
        const double times = !own.remade.empty() && own.remade[s] != 0 ? 2 : 1;
        tensor += numbers * (times * work.group_numbers + work.backward_group_numbers);
        context += numbers * (times * work.context_numbers + work.backward_context_numbers) / split.tensor;
        experts += numbers * (times * work.expert_numbers + work.backward_expert_numbers);
      }
      for (std::int32_t r = 0; r < split.data; ++r) {
        const device_layout& at = by_.layout(k).at(d, r);
        for (std::int32_t c = 0; c < split.context && at.tensor.nodes > 1; ++c)
          add(own.on.group(axis::tensor, {d, r, c, 0}), all_gather_cost(tensor, at.tensor, on_).node_bytes);
        for (std::int32_t t = 0; t < split.tensor && at.context.nodes > 1; ++t)
          add(own.on.group(axis::context, {d, r, 0, t}),
              all_to_all_cost(context, at.context, on_).node_bytes);
        // Of the replicas that share experts, the first one says it for all.
        for (std::int32_t c = 0; r % own.experts == 0 && c < split.context && at.experts.nodes > 1; ++c) {
          list<std::int32_t> ranks;
          for (std::int32_t e = 0; e < own.experts; ++e)
            for (std::int32_t t = 0; t < split.tensor; ++t) ranks.push(own.on.rank({d, r + e, c, t}));
          add(ranks, all_to_all_cost(experts, at.experts, on_).node_bytes);
        }
      }
    }
  }
  // Weights come together once a step, or for each forward and backward of a microbatch.
  static double gathers_of(const module_plan& own) { return own.zero > 2 ? 2 * own.microbatches : 1; }
  void sums(isize k) {
    const module_plan& own = by_.whole().modules[k];
    const degrees& split = own.on.split();
    if (!by_.learns(k) || by_.summing(k) < 2) return;
    for (std::int32_t d = 0; d < split.stages; ++d) {
      double parameters = 0, of_experts = 0;
      for (int c = 0; c < own.chunks; ++c) {
        const part_work work = by_.work(k, own.stage(d, c));
        parameters += work.parameters;
        of_experts += own.experts > 1 ? work.of_experts : 0;
      }
      for (std::int32_t t = 0; t < split.tensor; ++t)
        sum(own, {d, 0, 0, t}, 1, parameters - of_experts, by_.layout(k).sums[d]);
      // Gradients of experts are summed over the replicas that have the same.
      for (std::int32_t e = 0; own.experts > 1 && e < own.experts; ++e)
        for (std::int32_t t = 0; t < split.tensor; ++t)
          sum(own, {d, e, 0, t}, own.experts, of_experts, by_.layout(k).sums_of_experts[d]);
    }
  }
  // Gradients of so many parameters, over every `step`th replica from this one on and all parts of rows.
  void sum(const module_plan& own, mesh_position at, std::int32_t step, double parameters,
           const group_layout& group) {
    if (group.nodes < 2) return;
    const double gradients = parameters * by_.bytes().gradient;
    double bytes = all_reduce_cost(gradients, group, on_).node_bytes;
    if (own.zero > 0)
      bytes = reduce_scatter_cost(gradients, group, on_).node_bytes * (own.zero > 1 ? own.microbatches : 1) +
              all_gather_cost(parameters * by_.bytes().weight, group, on_).node_bytes * gathers_of(own);
    list<std::int32_t> ranks;
    for (; at.replica < own.on.split().data; at.replica += step)
      for (at.context = 0; at.context < own.on.split().context; ++at.context) ranks.push(own.on.rank(at));
    add(ranks, bytes);
  }

  const plan_pricer& by_;
  const cluster_facts& on_;
  list<double> out_;
  list<isize> known_;  // of each node, the last group that was added to it
  isize groups_ = 0;
};

}  // namespace detail

// Bytes that leave the busiest node of each kind in a step, and of them all, but for those of joins.
inline list<double> node_traffic_of_kinds(const plan_pricer& by) {
  return detail::traffic_counter(by).busiest();
}
inline double node_traffic(const plan_pricer& by) {
  const list<double> kinds = node_traffic_of_kinds(by);
  return *std::max_element(kinds.begin(), kinds.end());
}

}  // namespace motet
