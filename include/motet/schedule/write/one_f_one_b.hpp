// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

// One forward, one backward (Harlap et al., SOSP'19; Megatron-LM): as long as GPipe, but a device keeps at
// most as many microbatches as there are stages from it to the end.
// Asks for: one stage and one microbatch, or more.
// Memory: device d of p keeps at most p - d microbatches.
// Errors: MT-P01, MT-P07, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   static_assert(one_f_one_b::check(four).ok());
//   const score order = one_f_one_b::write(four);
struct one_f_one_b {
  static constexpr const char* name = "1f1b";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) { return check_counts(p); }

  static constexpr score write(const shape& p) {
    score out;
    const int tower = add_voice(out, p);
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      const int warm_up = least(p.microbatches, p.stages - 1 - d);
      for (int m = 0; m < warm_up; ++m) out.play(op::forward, tower, d, m);
      for (int m = 0; m < p.microbatches; ++m) {
        if (warm_up + m < p.microbatches) out.play(op::forward, tower, d, warm_up + m);
        out.play(op::backward, tower, d, m);
      }
    }
    return out;
  }
};

}  // namespace motet
