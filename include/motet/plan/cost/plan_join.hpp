// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/cost/estimate.hpp>
#include <motet/plan/describe/tower.hpp>

namespace motet {

// One join of a plan: the exchange of features and the arithmetic behind it.
struct join_cost {
  double compute = 0, exchange = 0;  // seconds
  double bytes = 0;                  // that come to its busiest member
  double node_bytes = 0;             // and into its busiest node
  list<double> kind_bytes = {};      // and into the busiest one of each kind
};

namespace detail {

// The ranks that hold the last stage of a module: they meet.
inline list<std::int32_t> homes_of(const plan& of, isize k) {
  const mesh& on = of.modules[k].on;
  const isize homes = on.ranks().size() / on.split().stages;
  // a V ends where it began
  const bool turns = of.schedule.view() == "zb_v" || of.schedule.view() == "dualpipe_v";
  list<std::int32_t> out;
  out.append(on.ranks().data() + (turns ? 0 : on.ranks().size() - homes), homes);
  return out;
}

}  // namespace detail

// A join sends this of each sample of a module: its feature, and with a softmax one more number; or the
// feature's gradient as well.
constexpr double bytes_of_sample(const model_shape& model, isize k, const training_bytes& bytes,
                                 const estimate_options& options) {
  const double feature = static_cast<double>(model.towers[k].embedding) * bytes.feature;
  if (options.exchange_gradients) return 2 * feature;
  return model.join.view() == "sigmoid" ? feature : feature + bytes.feature;
}

// Every member compares the rows of its own samples with those of all other modules. Rows come into each node
// once, a part to each of its ranks, and go round inside: what a hierarchical gather does.
inline join_cost join_of(const plan& of, const model_shape& model, const cluster_facts& on,
                         const training_bytes& bytes, isize samples, const estimate_options& options = {}) {
  const isize modules = of.modules.size();
  const bool sigmoid = model.join.view() == "sigmoid";
  const double group = static_cast<double>(samples) / of.modules[0].groups();
  struct seat {
    double compute = 0, comes = 0;  // seconds, bytes
    std::int32_t modules = 0, last = -1;
  };
  list<seat> seats(of.cluster.ranks);
  list<list<double>> held(modules, list<double>(on.nodes, 0));  // shares of each module's rows on each node
  list<list<std::int32_t>> homes;
  list<double> rows;  // bytes of each module's
  for (isize k = 0; k < modules; ++k) {
    homes.push(detail::homes_of(of, k));
    rows.push(group * bytes_of_sample(model, k, bytes, options));
    for (const std::int32_t rank : homes[k]) {
      ++seats[rank].modules;
      seats[rank].last = static_cast<std::int32_t>(k);
      held[k][on.node(rank)] += 1 / static_cast<double>(homes[k].size());
    }
  }
  list<node_run> kinds;
  for (std::int32_t kind = 0; kind < on.kinds(); ++kind) kinds.push(on.of_kind(kind));
  const auto rate = [&](std::int32_t rank, double own) {
    const device_facts& device = kinds[on.kind(on.node(rank))].device;
    return (bytes.feature <= 2 ? device.half_flops : device.single_flops) * device.products.of(own, group);
  };
  // A rank wants all modules but one that it has alone, and of each what it does not have.
  const auto wants = [&](std::int32_t rank, isize k) {
    return seats[rank].modules > 1 || seats[rank].last != k;
  };
  join_cost out;
  out.kind_bytes.resize(kinds.size(), 0);
  list<double> come(kinds.size(), 0);  // to the busiest member of each kind
  std::uint32_t meet = 0;              // kinds
  for (isize k = 0; k < modules; ++k) {
    const double own = group / static_cast<double>(homes[k].size());
    const double flops = (sigmoid ? 4 : 6) * static_cast<double>(modules - 1) * own * group *
                         static_cast<double>(model.towers[k].embedding);
    for (const std::int32_t rank : homes[k]) {
      seats[rank].compute += flops / rate(rank, own);
      if (seats[rank].modules > 1) seats[rank].comes -= rows[k] / static_cast<double>(homes[k].size());
    }
  }
  list<list<std::uint8_t>> wanted(modules, list<std::uint8_t>(on.nodes, 0));
  for (std::int32_t rank = 0; rank < of.cluster.ranks; ++rank) {
    seat& own = seats[rank];
    for (isize k = 0; own.modules > 0 && k < modules; ++k) {
      if (!wants(rank, k)) continue;
      own.comes += rows[k];
      wanted[k][on.node(rank)] = 1;
    }
    out.compute = std::max(out.compute, own.compute);
    out.bytes = std::max(out.bytes, own.comes);
    double& most = come[on.kind(on.node(rank))];
    most = std::max(most, own.comes);
  }
  std::int32_t nodes = 0;
  for (isize n = 0; n < on.nodes; ++n) {
    double in = 0, all = 0;
    for (isize k = 0; k < modules; ++k) {
      in += wanted[k][n] != 0 ? rows[k] * (1 - held[k][n]) : 0;
      all += held[k][n];
    }
    out.node_bytes = std::max(out.node_bytes, in);
    if (all <= 0) continue;
    ++nodes;
    const std::int32_t kind = on.kind(static_cast<std::int32_t>(n));
    meet |= 1u << kind;
    out.kind_bytes[kind] = std::max(out.kind_bytes[kind], in);
  }
  if (out.node_bytes < 1e-9 * out.bytes || nodes < 2) {
    out.node_bytes = 0;
    out.kind_bytes = list<double>(kinds.size(), 0);
  }
  double inside = 0, between = 0;  // seconds of the slowest
  for (isize kind = 0; kind < kinds.size(); ++kind) {
    inside = std::max(inside, kinds[kind].inside.seconds(come[kind]));
    between = std::max(between, kinds[kind].between.seconds(out.kind_bytes[kind]));
  }
  const cluster_facts seen = of_kinds(on, meet);
  // a softmax exchanges numbers of rows behind the rows
  const double calls = sigmoid || options.exchange_gradients ? 1 : 2;
  if (out.node_bytes > 0)
    out.exchange = calls * detail::rounds_of_tree(nodes) * seen.between.latency + between;
  if (out.bytes > 0 && on.devices_per_node > 1)
    out.exchange += calls * detail::rounds_of_tree(on.devices_per_node) * seen.inside.latency + inside;
  return out;
}

}  // namespace motet
