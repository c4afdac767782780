// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/program_samples.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/schedule/core/compile.hpp>

namespace motet {

// A plan's ranks are so many groups out of which no sample goes, where `together` of them that follow each
// other stay in one.
inline std::int32_t sample_groups(const plan& of, const list<module_facts>& facts, isize samples,
                                  isize together) {
  const program plays = compile(require_proven(of, facts, samples).order);
  return program_samples(plays, splits_of(plays, samples), false, together).groups();
}

}  // namespace motet
