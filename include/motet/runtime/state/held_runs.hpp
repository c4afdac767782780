// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/parameter.hpp>

namespace motet {

// Calls visit(offset in the local flat buffer, offset within the whole tensor, count) for what a rank holds
// of a parameter, in stretches as long as can be.
template <class Visit>
void each_run(const parameter& of, Visit&& visit) {
  for (const parameter_slice& each : of.slices()) {
    const isize columns = each.columns.size();
    if (columns == of.width) {
      visit(each.offset, each.rows.begin * of.width, each.size());
      continue;
    }
    for (isize r = each.rows.begin, at = each.offset; r < each.rows.end; ++r, at += columns)
      visit(at, r * of.width + each.columns.begin, columns);
  }
}

}  // namespace motet
