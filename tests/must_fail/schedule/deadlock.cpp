// SPDX-License-Identifier: Apache-2.0
// expect: motet: ranks would wait for each other for ever; see the words of the_rule_is_broken [MT-P28]
#include <motet/schedule/check/proven.hpp>

using namespace motet;

// A schedule of somebody's own: 1F1B, but when it is broken, the first device wants its last microbatch back
// first.
struct mine {
  using shape = pipeline_shape;
  static constexpr const char* name = "mine";
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
#ifdef MOTET_BREAK
        out.play(op::backward, tower, d, d == 0 ? (m + 3) % p.microbatches : m);
#else
        out.play(op::backward, tower, d, m);
#endif
      }
    }
    return out;
  }
};
constexpr pipeline_shape shape{.stages = 4, .microbatches = 8};

static_assert(proven<mine, shape>);
