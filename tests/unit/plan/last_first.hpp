// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/score.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

// What a program might write itself: all forwards, then all backwards, the last microbatch first. `Flaw` says
// what else than the plan's numbers it writes.
enum class flaw { none, voices, stages, chunks, microbatches, ranks, losses, place, turned };

template <flaw Flaw = flaw::none>
struct last_first {
  static constexpr const char* name = "last_first";
  static constexpr verdict check(const pipeline_shape& of) { return check_counts(of, of.chunks); }
  static constexpr score write(const pipeline_shape& of) {
    score out;
    voice tower;
    tower.stages = of.stages + (Flaw == flaw::stages ? 1 : 0);
    tower.chunks = Flaw == flaw::chunks ? 2 : 1;
    tower.microbatches = of.microbatches + (Flaw == flaw::microbatches ? 1 : 0);
    if (Flaw == flaw::losses) tower.join = 0;
    const int number = out.add(tower, [&](int stage) {
      return Flaw == flaw::place ? stage + 1 : Flaw == flaw::turned ? of.stages - 1 - stage : stage;
    });
    if (Flaw == flaw::voices) out.add(tower, [](int stage) { return stage; });
    for (int rank = 0; rank < of.stages; ++rank) {
      const int stage = Flaw == flaw::turned ? of.stages - 1 - rank : rank;
      out.rank();
      for (int m = 0; m < of.microbatches; ++m) out.play(op::forward, number, stage, m);
      for (int m = of.microbatches; m-- > 0;) out.play(op::backward, number, stage, m);
    }
    if (Flaw == flaw::ranks) out.rank();
    return out;
  }
};

}  // namespace motet
