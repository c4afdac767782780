// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/program_splits.hpp>

#include <cstdint>
#include <vector>

namespace motet {

// The samples of a step of which these ranks look at inputs, as ascending intervals: those of the replicas
// whose first or last stage is among them. wanted: of each module, whether its inputs count.
inline std::vector<interval> own_samples(const program& of, isize samples, interval ranks,
                                         const list<std::uint8_t>& wanted) {
  std::vector<std::uint8_t> own(as_size(samples), 0);
  const list<sample_split> splits = splits_of(of, samples);
  for (const voice& sings : of.voices) {
    const auto lives_here = [&](std::int32_t stage) {
      const std::int32_t rank = of.place(sings, stage);
      return rank >= ranks.begin && rank < ranks.end;
    };
    if (wanted[sings.module] == 0 || !(lives_here(0) || lives_here(sings.stages - 1))) continue;
    const sample_split& split = splits[sings.module];
    for (isize g = 0; g < split.groups; ++g)
      for (isize m = 0; m < split.microbatches; ++m) {
        const interval part = split.of(g, sings.replica, m);
        for (isize s = part.begin; s < part.end; ++s) own[as_size(s)] = 1;
      }
  }
  std::vector<interval> out;
  for (isize s = 0; s < samples; ++s) {
    if (own[as_size(s)] == 0) continue;
    if (!out.empty() && out.back().end == s) ++out.back().end;
    else out.push_back({s, s + 1});
  }
  return out;
}

}  // namespace motet
