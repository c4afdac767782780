// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/training_bytes.hpp>
#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// The share of its peak at which a device takes the product [rows, inner] x [inner, columns]: `best` for
// large ones, less where a side is short. A side of `half_rows` (of the activations) or `half_columns` (of
// the weights, as cut by tensor parallelism) halves it.
struct efficiency_curve {
  double best = 0.5;
  double half_rows = 0;
  double half_columns = 0;

  constexpr double of(double rows, double columns) const {
    const double by_rows = rows > 0 ? rows / (rows + half_rows) : 1,
                 by_columns = columns > 0 ? columns / (columns + half_columns) : 1;
    return best * by_rows * by_columns;
  }
  friend constexpr bool operator==(const efficiency_curve&, const efficiency_curve&) = default;
};

// One device of a cluster. Rates are peaks; `products` says which share of them matrix products reach.
struct device_facts {
  label name;
  double half_flops = 0;        // a second, on 16-bit numbers with sums of 32 bits
  double single_flops = 0;      // a second, on 32-bit numbers
  double memory_bytes = 0;      // that a rank may fill
  double bytes_per_second = 0;  // of that memory
  efficiency_curve products;
  // that each step of a layer takes at least, forward and in either part of backward: what the host needs to
  // ask for it
  double launch_seconds = 0;
  friend constexpr bool operator==(const device_facts&, const device_facts&) = default;
};

// Nodes that are alike, from one of a cluster on: to the next such run, or to the cluster's last.
struct node_run {
  std::int32_t first = 0;  // node
  std::int32_t kind = 0;   // 0: like the cluster's first nodes; equal runs are of one kind
  device_facts device;
  wire inside, between;
  double of_device = 0;
  constexpr bool alike(const node_run& other) const {
    return device == other.device && inside == other.inside && between == other.between &&
           of_device == other.of_device;
  }
  friend constexpr bool operator==(const node_run&, const node_run&) = default;
};

// Nodes with equally many devices. Ranks are devices, node after node. Devices are equal, or of several
// kinds, each with runs of nodes: then what stands here is of the first run, and `others` has those behind.
// Asks for: rates in FLOPs and bytes a second, sizes in bytes, times in seconds.
// Memory: some numbers, however many devices there are.
// Errors: none of its own.
// Example:
//   double peak_flops(const cluster_facts& on) {
//     double sum = 0;
//     for (std::int32_t rank = 0; rank < on.devices(); ++rank)
//       sum += on.run(on.node(rank)).device.half_flops;
//     return sum;
//   }
struct cluster_facts {
  static constexpr isize most_runs = 8;

  label name;
  device_facts device;
  std::int32_t nodes = 1;  // of all kinds
  std::int32_t devices_per_node = 1;
  wire inside;                // of each device to another of its node, each way
  wire between;               // of each node to all others, each way: its devices share it
  double of_device = 0;       // bytes a second of `between` that one device can have; 0: all of them
  training_bytes bytes = {};  // how training there keeps its numbers where nobody says otherwise
  std::int32_t more_runs = 0;
  node_run others[most_runs - 1] = {};

  constexpr std::int32_t devices() const { return nodes * devices_per_node; }
  constexpr std::int32_t node(std::int32_t rank) const { return rank / devices_per_node; }
  constexpr network wires() const { return {inside, between, devices_per_node}; }

  constexpr isize runs() const { return isize{more_runs} + 1; }
  struct node_span {
    std::int32_t first, end;
  };
  constexpr node_span nodes_of_run(isize r) const {
    return {r > 0 ? others[r - 1].first : 0, r < more_runs ? others[r].first : nodes};
  }
  // The run that a node is in.
  constexpr node_run run(std::int32_t node) const {
    const isize r = run_of(node);
    return r > 0 ? others[r - 1] : node_run{0, 0, device, inside, between, of_device};
  }
  // What tells kinds of devices apart: numbers from 0 on, and sets of them with a bit for each.
  constexpr std::int32_t kind(std::int32_t node) const {
    const isize r = run_of(node);
    return r > 0 ? others[r - 1].kind : 0;
  }
  constexpr node_run of_kind(std::int32_t kind) const {
    for (isize r = 0; r < more_runs; ++r)
      if (kind > 0 && others[r].kind == kind) return others[r];
    return run(0);
  }
  constexpr std::uint32_t kind_bit(std::int32_t node) const { return 1u << kind(node); }
  constexpr std::int32_t kinds() const {
    std::int32_t most = 0;
    for (isize r = 0; r < more_runs; ++r) most = others[r].kind > most ? others[r].kind : most;
    return most + 1;
  }
  constexpr std::uint32_t all_kinds() const { return (1u << kinds()) - 1; }

  // Nodes behind the last one; false where there is no room for another run. Such as the last ones make its
  // run longer, so a cluster does not tell in how many pieces it was written.
  constexpr bool add(std::int32_t count, node_run like) {
    if (like.alike(run(nodes - 1))) {
      nodes += count;
      return true;
    }
    if (runs() == most_runs) return false;
    like.first = nodes;
    like.kind = kinds();
    for (isize r = more_runs - 1; r >= -1; --r)
      if (const node_run known = run(r >= 0 ? others[r].first : 0); like.alike(known)) like.kind = known.kind;
    others[more_runs++] = like;
    nodes += count;
    return true;
  }
  friend constexpr bool operator==(const cluster_facts&, const cluster_facts&) = default;

 private:
  constexpr isize run_of(std::int32_t node) const {
    isize r = more_runs;
    while (r > 0 && node < others[r - 1].first) --r;
    return r;
  }
};

}  // namespace motet
