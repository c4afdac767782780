// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cmath>

namespace motet {

enum class rate_kind : std::uint8_t { constant, cosine };

// The learning rate of each step: a straight warm-up to `peak`, then constant, or half a cosine that reaches
// `floor` x peak with the last step.
// Asks for: the steps of the whole run, where the rate falls.
// Memory: a few numbers.
// Errors: none of its own.
// Example:
//   const rate_schedule rate{.peak = 1e-3, .warmup = 50, .steps = 500};
//   const double first = rate.at(0);
struct rate_schedule {
  rate_kind kind = rate_kind::cosine;
  double peak = 1e-3;
  index warmup = 0;  // steps
  index steps = 0;   // of the whole run, warm-up included; a constant rate has no need of it
  double floor = 0;

  // Steps count from 0; the first step already learns, and the peak is reached with step warmup - 1.
  double at(index step) const {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (kind == rate_kind::constant) return peak;
    const index length = steps - warmup;
    if (length <= 0 || step >= steps) return step >= steps ? peak * floor : peak;
    const double done = static_cast<double>(step - warmup) / static_cast<double>(length);
    return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(3.14159265358979323846 * done)));
  }
};

}  // namespace motet
