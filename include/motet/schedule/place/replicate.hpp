// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/score.hpp>

namespace motet {

// Data parallelism: every module `replicas` times, each copy of the whole score on ranks of its own, the
// first on ranks 0, 1, ... Copies share their gradients, so compile() adds a reduction before each update.
// They also meet in the same joins: a loss over all samples of all copies.
// Asks for: a score, and one replica or more.
// Memory: the new score: as many times longer.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/gpipe.hpp>
//   const score order = replicate(gpipe::write({.stages = 2, .microbatches = 4}), 3);
constexpr score replicate(const score& from, int replicas) {
  score out;
  for (int r = 0; r < replicas; ++r) {
    for (const voice& each : from.voices()) {
      voice copy = each;
      copy.replica = each.replica * replicas + r;
      out.add(copy, [&](int stage) { return r * from.ranks() + from.place(each, stage); });
    }
  }
  for (int r = 0; r < replicas; ++r) {
    const int first = r * static_cast<int>(from.voices().size());
    for (std::int32_t rank = 0; rank < from.ranks(); ++rank) {
      out.rank();
      for (std::int32_t i = from.begin_of(rank); i < from.end_of(rank); ++i) {
        const cue each = from[i];
        if (each.what == op::join) out.join(each.voice, each.microbatch, each.aside);
        else out.play(each.what, first + each.voice, each.stage, each.microbatch);
        if (each.paired) out.pair_with_next();
      }
    }
  }
  return out;
}

}  // namespace motet
