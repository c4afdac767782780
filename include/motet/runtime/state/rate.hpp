// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cmath>
#include <cstdint>

namespace motet {

enum class rate_kind : std::uint8_t { constant, cosine, linear };

// The learning rate of each step: none before `delay`, a straight warm-up to `peak`, then constant, or half a
// cosine or a straight line that reaches `floor` x peak with the last step.
// Asks for: the steps of the whole run, where the rate falls.
// Memory: a few numbers.
// Errors: none of its own.
// Example:
//   const rate_schedule rate{.peak = 1e-3, .warmup = 50, .steps = 500};
//   const double first = rate.at(0);
struct rate_schedule {
  rate_kind kind = rate_kind::cosine;
  double peak = 1e-3;
  isize warmup = 0;  // steps
  isize steps = 0;   // of the whole run, delay and warm-up included; a constant rate has no need of it
  double floor = 0;
  isize delay = 0;  // steps

  // Steps count from 0; the first step behind the delay already learns, and the peak is reached with the last
  // one of the warm-up.
  double at(isize step) const {
    if (step < delay) return 0;
    const isize begun = step - delay;
    if (begun < warmup) return peak * static_cast<double>(begun + 1) / static_cast<double>(warmup);
    if (kind == rate_kind::constant) return peak;
    const isize length = steps - delay - warmup;
    if (length <= 0 || step >= steps) return step >= steps ? peak * floor : peak;
    const double done = static_cast<double>(begun - warmup) / static_cast<double>(length);
    const double left =
        kind == rate_kind::linear ? 1 - done : 0.5 * (1 + std::cos(3.14159265358979323846 * done));
    return peak * (floor + (1 - floor) * left);
  }
  friend bool operator==(const rate_schedule&, const rate_schedule&) = default;
};

}  // namespace motet
