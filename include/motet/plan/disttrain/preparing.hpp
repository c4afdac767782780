// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_kinds.hpp>

namespace motet {

// The pictures of a sample that has many large ones, and how fast a core makes them ready: it decodes and
// scales 736 pictures of 256 x 256 a second (docs/cards/data_path.yaml).
struct preparing {
  double pictures = 10, side = 2048;             // as they lie in the shards
  double shown_side = 512;                       // as the encoder takes them, of three bytes a pixel
  double pixels_per_second = 736 * 256 * 256.0;  // of a core
  double cores = 1;                              // that a rank has for it

  // A rank that prepares the sample itself waits so long for it, where nothing hides that.
  constexpr double seconds_on_rank() const { return pictures * side * side / pixels_per_second / cores; }
  // A rank that gets it from a producer waits for its bytes, over the rank's share of the way into its node.
  constexpr double seconds_apart(const cluster_facts& on) const {
    wire own = on.between;
    own.bytes_per_second /= static_cast<double>(on.devices_per_node);
    return own.seconds(pictures * shown_side * shown_side * 3) + own.latency;
  }
};

}  // namespace motet
