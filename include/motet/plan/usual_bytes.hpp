// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cluster.hpp>
#include <motet/plan/estimate.hpp>

namespace motet {

// How training on a cluster keeps its numbers where nobody says otherwise: weights and state in 32 bits, as this library does. On V100s, as the runs
// of the paper on DistMM must have: 1.52 billion parameters on a device of 16 GB leave 10 bytes for each at most, so 16-bit weights and gradients and
// two moments of 8 bits; and layers of PyTorch keep 17 or 18 numbers for each of a row's columns where ours keep 10, a quarter of them whole on every
// rank of a tensor group.
constexpr training_bytes usual_bytes(const cluster_facts& on) {
  training_bytes out;
  if (!on.device.name.view().starts_with("V100")) return out;
  out.weight = out.gradient = out.state = 2;
  out.kept = 1.75;
  out.uncut = 0.25;
  return out;
}

}  // namespace motet
