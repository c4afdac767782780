// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/parameter.hpp>

#include <span>
#include <type_traits>
#include <vector>

namespace motet {

// What a step found.
struct step_result {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
  double rate = 0;
  double seconds = 0;
};

// What training makes, without the types of the model that made it: flat buffers, and the names and places of
// the tensors in them. The moments cover the first `trainable` elements only.
struct trained_state {
  std::span<const parameter> parameters;
  float* weights = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  index size = 0;
  index trainable = 0;
  index updates = 0;
};

// The same by itself, in the model's flat order, whatever made it.
template <class Master>
struct flat_state {
  std::vector<Master> weights, first, second;
  index updates = 0;

  // What a checkpoint holds (runtime/save/checkpoint.hpp).
  trained_state view(std::span<const parameter> parameters)
    requires std::is_same_v<Master, float>
  {
    return {parameters,
            weights.data(),
            first.data(),
            second.data(),
            static_cast<index>(weights.size()),
            static_cast<index>(first.size()),
            updates};
  }
};

}  // namespace motet
