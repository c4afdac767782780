// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/parameter.hpp>

#include <span>

namespace motet {

// What training makes, without the types of the model that made it: flat buffers, and the names and places of the tensors in them. The moments
// cover the first `trainable` elements only.
struct trained_state {
  std::span<const parameter> parameters;
  float* weights = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  index size = 0;
  index trainable = 0;
  index updates = 0;
};

}  // namespace motet
