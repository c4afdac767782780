// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/join_layout.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>
#include <motet/runtime/stage/stage_groups.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/strategy/resplit.hpp>

namespace motet {

// A program cuts the samples of a step so, module after module, in even parts. It must have voices.
list<sample_split> splits_of(const program& of, isize samples);
// The most samples that a replica of each module may ever have of a group.
inline list<isize> most_of(const list<sample_split>& splits, const resplit_options& room) {
  list<isize> all;
  for (const sample_split& each : splits)
    all.push(bounds_of(room, each.samples / each.groups, each.replicas, each.microbatches).most);
  return all;
}

// Who else shares experts has no end to call here.
inline spread_seat seat_of(const voice& sings, const stage_groups& groups) {
  spread_seat at{groups.tensor_of(sings), groups.tensor_member(sings), groups.context_of(sings),
                 groups.context_member(sings)};
  if (const tensor_cut cut = cut_of(sings, groups); cut.over_replicas())
    at.experts = any_group(cut.of_experts().shards, cut.of_experts().shard);
  return at;
}

// The samples of a step meet in so many groups.
inline isize groups_of_join(const program& of) {
  for (const voice& each : of.voices)
    if (each.join >= 0) return each.joins();
  return 1;
}

// The modules whose voices meet in a join, in the model's order; a join counts them alone.
inline list<std::int32_t> joined_modules(const program& of, std::int32_t join = 0) {
  list<std::uint8_t> meets;
  for (const voice& each : of.voices) {
    if (meets.size() <= each.module) meets.resize(each.module + 1, 0);
    if (each.join == join) meets[each.module] = 1;
  }
  list<std::int32_t> all;
  for (isize k = 0; k < meets.size(); ++k)
    if (meets[k] != 0) all.push(static_cast<std::int32_t>(k));
  return all;
}

// Ranks bring to a join, where voices end, the samples that they have of a group, of_microbatch(voice,
// microbatch).
template <class Samples>
std::vector<join_seat> seats_of(const program& of, const stage_groups& groups, Samples of_microbatch,
                                std::int32_t join) {
  std::vector<join_seat> all;
  const list<std::int32_t> joined = joined_modules(of, join);
  for (std::int32_t v = 0; v < of.voices.size(); ++v) {
    const voice& sings = of.voices[v];
    if (sings.join != join) continue;
    join_seat& seat = all.emplace_back();
    seat.rank = of.place(sings, sings.stages - 1);
    while (joined[seat.module] != sings.module) ++seat.module;
    seat.voice = v;
    for (isize m = 0; m < sings.group; ++m)
      seat.samples.push_back(mine_of(of_microbatch(sings, m), seat_of(sings, groups)));
  }
  return all;
}
// So many samples meet at once in the largest group, which is the first.
inline isize samples_of_join(const program& of, const list<sample_split>& splits, std::int32_t join) {
  const sample_split& any = splits[joined_modules(of, join)[0]];
  return share(any.samples, any.groups, 0).size();
}
// The layout with these samples; and with as many as replicas ever have, to count memory by.
inline join_layout layout_of(const program& of, const stage_groups& groups, const list<sample_split>& splits,
                             std::int32_t join = 0) {
  const auto now = [&](const voice& sings, isize m) { return splits[sings.module].of(0, sings.replica, m); };
  return {seats_of(of, groups, now, join), samples_of_join(of, splits, join)};
}
inline join_layout largest_layout_of(const program& of, const stage_groups& groups,
                                     const list<sample_split>& splits, const list<isize>& most,
                                     std::int32_t join = 0) {
  const auto largest = [&](const voice& sings, isize m) {
    return interval{0, share(most[sings.module], sings.group, m).size()};
  };
  return join_layout::at_most(seats_of(of, groups, largest, join), samples_of_join(of, splits, join));
}

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY list<sample_split> splits_of(const program& of, isize samples) {
  list<sample_split> all;
  const list<std::int32_t> voices = replicas_of_modules(of.voices);
  for (const voice& each : of.voices) {
    while (all.size() <= each.module) all.push({samples, each.joins(), 1, 1, {}});
    all[each.module].replicas = voices[each.module] / each.shards;
    all[each.module].microbatches = each.group;
  }
  return all;
}
#endif

}  // namespace motet
