// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/step_headers.hpp>
#include <motet/runtime/feeds/program_splits.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

// The samples of a step of which these ranks look at inputs, as ascending intervals: those of the replicas
// whose first or last stage is among them. wanted: of each module, whether its inputs count. room: samples
// may move between replicas so far, and all that these may ever have are theirs.
std::vector<interval> own_samples(const program& of, isize samples, interval ranks,
                                  const list<std::uint8_t>& wanted, const resplit_options& room = {});
// The samples that stand at these places of a step in another order.
std::vector<interval> samples_at(const std::vector<interval>& places, const sample_order& order);

namespace detail {

// All samples of a group that a replica may ever have, counted within the group, wherever samples have moved
// by then.
inline interval reach_of(const sample_split& split, isize group, isize replica, const resplit_options& room) {
  const isize size = share(split.samples, split.groups, group).size(),
              least_size = split.samples / split.groups;
  share_bounds each = bounds_of(room, least_size, split.replicas, split.microbatches);
  // Bounds are those of the smallest group; the others have one sample more.
  each.most += size - least_size;
  const isize before = replica, behind = split.replicas - 1 - replica;
  return {std::max(before * each.least, size - (behind + 1) * each.most),
          std::min((before + 1) * each.most, size - behind * each.least)};
}

}  // namespace detail

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {

inline std::vector<interval> marked_intervals(const std::vector<std::uint8_t>& marks) {
  std::vector<interval> out;
  for (isize s = 0; s < static_cast<isize>(marks.size()); ++s) {
    if (marks[as_size(s)] == 0) continue;
    if (!out.empty() && out.back().end == s) ++out.back().end;
    else out.push_back({s, s + 1});
  }
  return out;
}

}  // namespace detail

MOTET_BODY std::vector<interval> own_samples(const program& of, isize samples, interval ranks,
                                             const list<std::uint8_t>& wanted, const resplit_options& room) {
  std::vector<std::uint8_t> own(as_size(samples), 0);
  const list<sample_split> splits = splits_of(of, samples);
  for (const voice& sings : of.voices) {
    const auto lives_here = [&](std::int32_t stage) {
      const std::int32_t rank = of.place(sings, stage);
      return rank >= ranks.begin && rank < ranks.end;
    };
    if (wanted[sings.module] == 0 || !(lives_here(0) || lives_here(sings.stages - 1))) continue;
    const sample_split& split = splits[sings.module];
    for (isize g = 0; g < split.groups; ++g) {
      const isize first = share(samples, split.groups, g).begin;
      const interval part = room.most > 1 ? detail::reach_of(split, g, sings.replica, room)
                                          : split.replica_part(g, sings.replica);
      std::fill(own.begin() + first + part.begin, own.begin() + first + part.end, 1);
    }
  }
  return detail::marked_intervals(own);
}
MOTET_BODY std::vector<interval> samples_at(const std::vector<interval>& places, const sample_order& order) {
  std::vector<std::uint8_t> own(as_size(order.size()), 0);
  for (const interval& each : places)
    for (isize place = each.begin; place < each.end; ++place) own[as_size(order[place])] = 1;
  return detail::marked_intervals(own);
}
#endif

}  // namespace motet
