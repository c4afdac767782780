// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace motet {

// Seconds that a started, moved or resized job loses, as the evaluation of Crius counts them: by its devices.
struct change_costs {
  double per_device = 150, most = 600;

  double seconds(std::int32_t devices) const { return std::min(per_device * devices, most); }
};

// A change takes as long as what has to move: the state of a job lies on its devices in equal parts, and goes
// over links, or through storage where it was on no devices.
struct state_costs {
  double bytes_of_parameter = 14;  // weights in two bytes and in four, two moments in four each
  double within_node = 100e9;      // bytes a second of a device to others of its node
  double between_nodes = 12.5e9;   // of a node, each way
  double storage = 20e9;           // of what checkpoints are written to and read from, for one job
  double restart = 10;             // seconds until processes have found each other again

  // The time to load weights where there were no devices at all: each node reads the part of its devices.
  double load_seconds(double parameters, std::int32_t nodes) const {
    const double bytes = parameters * bytes_of_parameter;
    return restart + std::max(bytes / storage, bytes / nodes / between_nodes);
  }
  // The time to go from some devices to others, both in the order of their parts; `node_of(device)` tells
  // whose links they use. What a device keeps does not move.
  template <class NodeOf>
  double move_seconds(double parameters, const std::vector<std::int32_t>& from,
                      const std::vector<std::int32_t>& to, NodeOf node_of) const {
    const double bytes = parameters * bytes_of_parameter;
    const auto had = static_cast<double>(from.size()), has = static_cast<double>(to.size());
    std::map<std::int32_t, double> out_of_node, into_node, device_moves;
    for (std::size_t a = 0, b = 0; a < from.size() && b < to.size();) {
      const double ends_a = static_cast<double>(a + 1) / had, ends_b = static_cast<double>(b + 1) / has;
      const double begins = std::max(static_cast<double>(a) / had, static_cast<double>(b) / has);
      const double part = bytes * (std::min(ends_a, ends_b) - begins);
      if (from[a] != to[b]) {
        const std::int32_t here = node_of(from[a]), there = node_of(to[b]);
        if (here == there) {
          device_moves[from[a]] += part;
          device_moves[to[b]] += part;
        } else {
          out_of_node[here] += part;
          into_node[there] += part;
        }
      }
      // Parts that end together, up to what rounding does.
      const bool both = (a + 1) * to.size() == (b + 1) * from.size();
      const bool first = ends_a < ends_b;
      if (both || first) ++a;
      if (both || !first) ++b;
    }
    double longest = 0;
    for (const auto& [device, moved] : device_moves) longest = std::max(longest, moved / within_node);
    for (const auto* each : {&out_of_node, &into_node})
      for (const auto& [node, moved] : *each) longest = std::max(longest, moved / between_nodes);
    return restart + longest;
  }
};

}  // namespace motet
