// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

// 1F1B over several chunks a device (Narayanan et al., SC'21): the bubble shrinks by the number of chunks,
// and messages grow by it.
// Asks for: chunks on each device, two where none are said, and microbatches that the devices divide.
// Memory: more than 1F1B: a device runs ahead through all of its chunks.
// Errors: MT-P01, MT-P03, MT-P07, MT-P11
// Example:
//   constexpr pipeline_shape four{.stages = 4, .microbatches = 8, .chunks = 3};
//   static_assert(interleaved::check(four).ok());
//   const score order = interleaved::write(four);
struct interleaved {
  static constexpr const char* name = "interleaved";
  using shape = pipeline_shape;
  static constexpr int usual_chunks = 2;
  static constexpr verdict check(const shape& p) {
    if (const verdict found = check_counts(p, 0); !found.ok()) return found;
    if (p.chunks_or(usual_chunks) > 1 && p.microbatches % p.stages != 0)
      return {reason::microbatches_do_not_divide, 1, p.microbatches, p.stages};
    return {};
  }

  static constexpr score write(const shape& p) {
    const int chunks = p.chunks_or(usual_chunks), all = p.microbatches * chunks, round = p.stages * chunks;
    score out;
    const int tower = add_voice(out, p, chunks);
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      // Step k takes a chunk for one round of microbatches, then the next chunk.
      const auto play = [&](op what, int k) {
        const int chunk = k % round / p.stages, m = k / round * p.stages + k % p.stages;
        out.play(what, tower, (what == op::forward ? chunk : chunks - 1 - chunk) * p.stages + d, m);
      };
      const int even = chunks == 1 ? p.stages - d - 1 : 2 * (p.stages - d - 1) + (chunks - 1) * p.stages;
      const int warm_up = chunks > 1 && p.microbatches == p.stages ? all : least(all, even);
      for (int k = 0; k < warm_up; ++k) play(op::forward, k);
      for (int k = 0; k < all; ++k) {
        if (warm_up + k < all) play(op::forward, warm_up + k);
        play(op::backward, k);
      }
    }
    return out;
  }
};

}  // namespace motet
