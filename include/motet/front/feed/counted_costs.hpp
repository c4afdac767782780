// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/batch_headers.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/schedule/core/costs.hpp>
#include <motet/strategy/sample_split.hpp>

#include <algorithm>

namespace motet {

namespace detail {

inline isize share_of_most(const sample_split& split) {
  isize most = 1;
  for (isize g = 0; g < split.groups; ++g)
    for (isize r = 0; r < split.replicas; ++r)
      for (isize m = 0; m < split.microbatches; ++m) most = std::max(most, split.of(g, r, m).size());
  return most;
}

}  // namespace detail

// What a unit of work costs each place of a program, in each of its parts, as counted with the largest
// microbatch of samples that are as long as any can be: what a place_clock begins with.
template <class Model>
list<stage_cost> counted_costs(const program& of, const program_work& work, isize samples) {
  const list<sample_split> splits = splits_of(of, samples);
  const list<double> longest = longest_work<Model>();
  list<stage_cost> out;
  for (const voice& sings : of.voices) {
    const isize most = detail::share_of_most(splits[sings.module]);
    const double whole = static_cast<double>(most) * longest[sings.module] * 1e11;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      const stage_work& own = work.places[as_size(sings.first_place + s)];
      out.push({own.forward / whole, own.backward_input / whole, own.backward_weight / whole});
    }
  }
  return out;
}

}  // namespace motet
