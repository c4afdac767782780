// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace motet {

// A result is what a step found.
struct step_result {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
  double rate = 0;
  double seconds = 0;
};

// The state is what training makes, in the model's flat order, whatever made it. The moments and averages are
// of what learns, which comes first; an optimizer without a second moment leaves it empty, and so does a run
// without averages.
template <class Master>
struct flat_state {
  std::vector<Master> weights, first, second;
  isize updates = 0;
  std::vector<Master> average{};
};

// What a run begins with: every module that a checkpoint has, or this one, which is called `as` there; the
// weights of its last step, which come first, or the averages of those that have them.
enum class weights_of : std::uint8_t;
struct begin_options {
  std::string_view module{}, as{};
  weights_of which{};
};

}  // namespace motet
