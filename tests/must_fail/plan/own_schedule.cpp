// SPDX-License-Identifier: Apache-2.0
// expect: a schedule of one's own orders the stages that a plan gives it.*MT-S26
// words: "caption: got 1, wanted 2"
#include "two_towers.hpp"

#include <motet/plan/prove/plan_for.hpp>

using namespace motet;
using namespace motet::strategy;

// One that forgets that there may be several stages.
struct mine {
  static constexpr const char* name = "mine";
  static constexpr verdict check(const pipeline_shape& of) { return check_counts(of, of.chunks); }
  static constexpr score write(const pipeline_shape& of) {
    score out;
    voice tower;
#ifdef MOTET_BREAK
    tower.stages = 1;
#else
    tower.stages = of.stages;
#endif
    tower.microbatches = of.microbatches;
    const int number = out.add(tower, [](int stage) { return stage; });
    for (int rank = 0; rank < tower.stages; ++rank) {
      out.rank();
      for (int m = 0; m < of.microbatches; ++m) out.play(op::forward, number, rank, m);
      for (int m = 0; m < of.microbatches; ++m) out.play(op::backward, number, rank, m);
    }
    return out;
  }
};
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 3>, stages<2>>,
                        by<mine, microbatches<2>>>;

static_assert(layout::value().modules.size() == 2);
int main() {}
