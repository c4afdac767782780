// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

// All forwards, then all backwards (Huang et al., NeurIPS'19): simple, and every microbatch is kept.
// Asks for: one stage and one microbatch, or more.
// Memory: every device keeps all microbatches.
// Errors: MT-P01, MT-P07, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(gpipe::check(four).ok());
//   const score order = gpipe::write(four);
struct gpipe {
  static constexpr const char* name = "gpipe";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) { return check_counts(p); }

  static constexpr score write(const shape& p) {
    score out;
    const int tower = add_voice(out, p);
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      for (int m = 0; m < p.microbatches; ++m) out.play(op::forward, tower, d, m);
      for (int m = 0; m < p.microbatches; ++m) out.play(op::backward, tower, d, m);
    }
    return out;
  }
};

}  // namespace motet
