// SPDX-License-Identifier: Apache-2.0
// expect: a score holds forwards, backwards and joins only.*MT-P27
#include <motet/schedule/proven.hpp>

using namespace motet;

// A schedule of somebody's own for two stages and two microbatches.
struct mine {
  using shape = pipeline_shape;
  static constexpr const char* name = "mine";
  static constexpr verdict check(const shape& p) { return check_counts(p); }
  static constexpr score write(const shape& p) {
    score out;
    const int tower = add_voice(out, p);
    out.rank();
#ifdef MOTET_BREAK
    out.play(op::optimizer_step, tower, 0, 0);
#else
    out.play(op::forward, tower, 0, 0);
    out.play(op::forward, tower, 0, 1);
    out.play(op::backward, tower, 0, 0);
    out.play(op::backward, tower, 0, 1);
#endif
    out.rank();
    for (int m = 0; m < 2; ++m) {
      out.play(op::forward, tower, 1, m);
      out.play(op::backward, tower, 1, m);
    }
    return out;
  }
};
constexpr pipeline_shape shape{.stages = 2, .microbatches = 2};

static_assert(proven<mine, shape>);
