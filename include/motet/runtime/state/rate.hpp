// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cmath>
#include <cstdint>

namespace motet {

enum class rate_kind : std::uint8_t { constant, cosine, linear };

// The learning rate of each step: none before `delay`, a straight warm-up to `peak`, then constant, or half a
// cosine or a straight line that reaches `floor` x peak with the last step.
struct rate_schedule {
  rate_kind kind = rate_kind::cosine;
  double peak = 1e-3;
  index warmup = 0;  // steps
  index steps = 0;   // of the whole run, delay and warm-up included; a constant rate has no need of it
  double floor = 0;
  index delay = 0;  // steps

  // Steps count from 0; the first step behind the delay already learns, and the peak is reached with the last
  // one of the warm-up.
  double at(index step) const {
    if (step < delay) return 0;
    const index begun = step - delay;
    if (begun < warmup) return peak * static_cast<double>(begun + 1) / static_cast<double>(warmup);
    if (kind == rate_kind::constant) return peak;
    const index length = steps - delay - warmup;
    if (length <= 0 || step >= steps) return step >= steps ? peak * floor : peak;
    const double done = static_cast<double>(begun - warmup) / static_cast<double>(length);
    const double left =
        kind == rate_kind::linear ? 1 - done : 0.5 * (1 + std::cos(3.14159265358979323846 * done));
    return peak * (floor + (1 - floor) * left);
  }
  friend bool operator==(const rate_schedule&, const rate_schedule&) = default;
};

}  // namespace motet
