// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/plan/describe/plan.hpp>

#include <string>

namespace motet {

// "eye on rank 0, 4 microbatches; talk on ranks 1-2 (stages 2 x data 1 x tensor 1), 4 microbatches; 1f1b".
// Context parts and chunks are said where there are several, and experts that replicas share.
inline std::string words_of(const plan& of) {
  std::string out;
  for (isize k = 0; k < of.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    const list<std::int32_t>& ranks = own.on.ranks();
    const degrees& split = own.on.split();
    out += std::string(own.name.view()) + " on ";
    out += ranks.size() == 1 ? sentence({"rank ", ranks[0]})
                             : sentence({"ranks ", ranks[0], "-", ranks.back(), " (stages ", split.stages,
                                         " x data ", split.data}) +
                                   (split.context > 1 ? sentence({" x context ", split.context}) : "") +
                                   sentence({" x tensor ", split.tensor, ")"});
    if (own.chunks > 1) out += sentence({" in ", own.chunks, " chunks"});
    if (own.experts > 1) out += sentence({" with experts over ", own.experts, " replicas"});
    if (own.multiplexed)
      out += own.ahead > 0 ? sentence({" between the others, ", own.ahead, " ahead"}) : " between the others";
    if (own.long_rows > 0) out += sentence({" of samples from ", own.long_rows, " rows on, others whole"});
    out += sentence({own.fills ? " in the gaps, " : ", ", own.microbatches,
                     own.microbatches == 1 ? " microbatch; " : " microbatches; "});
  }
  return out + std::string(of.schedule.view());
}

}  // namespace motet
