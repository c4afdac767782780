// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/shape.hpp>

namespace motet {

namespace detail {

// Backward in its two parts (Qi et al., ICLR'24): the input part goes on at once, and weight parts fill what
// would be idle. Each device warms up with `depth` times its distance to the last, and its weight parts
// follow as far behind.
constexpr score write_zero_bubble(const pipeline_shape& p, int depth_of_warm_up, int depth_of_weights) {
  score out;
  const int tower = add_voice(out, p);
  for (int d = 0; d < p.stages; ++d) {
    out.rank();
    const int warm_up = least(p.microbatches, depth_of_warm_up * (p.stages - 1 - d)),
              behind = depth_of_weights * d;
    for (int m = 0; m < warm_up; ++m) out.play(op::forward, tower, d, m);
    for (int m = 0; m < p.microbatches; ++m) {
      if (warm_up + m < p.microbatches) out.play(op::forward, tower, d, warm_up + m);
      out.play(op::backward_input, tower, d, m);
      if (m >= behind) out.play(op::backward_weight, tower, d, m - behind);
    }
    for (int m = most(0, p.microbatches - behind); m < p.microbatches; ++m)
      out.play(op::backward_weight, tower, d, m);
  }
  return out;
}

}  // namespace detail

// zb_h1 has as much memory as 1F1B on its first device, and a third of its bubble.
// Asks for: one chunk on each device, and any number of microbatches.
// Memory: zb_h1 keeps as many microbatches as 1F1B does on its first device; zb_h2 nearly twice as many.
// Errors: MT-P01, MT-P07, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8};
//   const score lean = zb_h1::write(four), quick = zb_h2::write(four);
struct zb_h1 {
  static constexpr const char* name = "zb_h1";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) { return check_counts(p); }
  static constexpr score write(const shape& p) { return detail::write_zero_bubble(p, 1, 1); }
};

// Nearly twice the memory, and no bubble at all when the three parts take equal time and no device waits for
// another's optimizer step.
struct zb_h2 {
  static constexpr const char* name = "zb_h2";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) { return check_counts(p); }
  static constexpr score write(const shape& p) { return detail::write_zero_bubble(p, 2, 2); }
};

}  // namespace motet
