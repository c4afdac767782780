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

// Equal devices in equal nodes. Ranks are devices, node after node.
// Asks for: rates in FLOPs and bytes a second, sizes in bytes, times in seconds.
// Memory: some numbers, however many devices there are.
// Errors: none of its own.
// Example:
//   double peak_flops(const cluster_facts& on) { return on.devices() * on.device.half_flops; }
struct cluster_facts {
  label name;
  device_facts device;
  std::int32_t nodes = 1;
  std::int32_t devices_per_node = 1;
  wire inside;                // of each device to another of its node, each way
  wire between;               // of each node to all others, each way: its devices share it
  double of_device = 0;       // bytes a second of `between` that one device can have; 0: all of them
  training_bytes bytes = {};  // how training there keeps its numbers where nobody says otherwise

  constexpr std::int32_t devices() const { return nodes * devices_per_node; }
  constexpr std::int32_t node(std::int32_t rank) const { return rank / devices_per_node; }
  constexpr network wires() const { return {inside, between, devices_per_node}; }
  friend constexpr bool operator==(const cluster_facts&, const cluster_facts&) = default;
};

}  // namespace motet
