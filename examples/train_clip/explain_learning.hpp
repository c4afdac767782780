// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <cstdio>

namespace motet::train_clip {

// How weights are moved, in words.
inline void explain_learning(const settings& s) {
  std::printf("optimizer %s, weight decay %g, clip %g\n", s.optimizer.c_str(), s.weight_decay, s.clip);
  if (s.layer_rate != 1) std::printf("rates     %g of the rate above it from block to block\n", s.layer_rate);
  for (const named_pace& each : s.paces()) {
    std::printf("%-9s %g of the learning rate", each.module.c_str(), each.rate);
    if (each.decay) std::printf(", weight decay %g", *each.decay);
    if (each.layers) std::printf(", %g from block to block", *each.layers);
    if (const auto& own = each.schedule)
      std::printf(", a schedule of its own: %td steps of delay, %td of warm-up, %s", own->delay, own->warmup,
                  own->kind == rate_kind::constant ? "constant"
                  : own->kind == rate_kind::linear ? "linear"
                                                   : "cosine");
    std::printf("\n");
  }
  if (s.ema > 0) std::printf("averages  of the weights, decay %g\n", s.ema);
}

}  // namespace motet::train_clip
