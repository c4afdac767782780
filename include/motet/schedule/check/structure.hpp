// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/schedule/core/rules.hpp>

namespace motet {

// A finding says what is wrong with a program, and where.
struct finding {
  broken_rule why = reason::none;
  std::int32_t rank = -1;
  std::int32_t at = -1;     // instruction, counted over the whole program; -1: none
  std::int32_t other = -1;  // a second one that it conflicts with
  isize got = 0, wanted = 0;
  constexpr bool ok() const { return why == reason::none; }
};

// The tables of a program must fit together. Behind this check, their numbers may be followed without
// looking.
constexpr finding check_structure(const program& of) {
  const auto wrong = [](isize got, isize wanted) {
    return finding{reason::bad_structure, -1, -1, -1, got, wanted};
  };
  const isize voices = of.voices.size();
  if (voices > most_voices) return {reason::too_large, -1, -1, -1, voices, most_voices};
  if (of.joins < 0 || of.joins > voices) return wrong(of.joins, voices);
  list<std::int32_t> stages_of_modules(voices, 0);
  isize places = 0, cells = 0;
  std::int32_t shards_seen = 0;
  const auto shares = [](const voice& one, const voice& other) {
    return one.module == other.module && one.replica == other.replica && one.shards == other.shards &&
           one.microbatches == other.microbatches && one.stages == other.stages;
  };
  list<std::int32_t> sums_of_modules(voices, -1);  // in which computations of how many microbatches they meet
  list<std::int32_t> lanes_of_modules(voices, -1);
  for (const voice& each : of.voices) {
    if (each.stages < 1 || each.microbatches < 1 || each.chunks < 1)
      return {reason::no_stages, -1, -1, -1, each.stages, 1};
    if (each.first_place != places || each.first_cell != cells) return wrong(each.first_place, places);
    if (each.module < 0 || each.module >= voices) return wrong(each.module, voices);
    if (each.join >= of.joins) return wrong(each.join, of.joins);
    if (each.join >= 0 && (each.group < 1 || each.microbatches % each.group != 0))
      return {reason::group_does_not_divide, -1, -1, -1, each.group, each.microbatches};
    // Shards stand one behind the other, the first one ahead.
    if (each.shards < 1 || each.shard != shards_seen) return wrong(each.shard, shards_seen);
    if (each.shard > 0 && !shares(*(&each - 1), each)) return wrong(each.shards, (&each - 1)->shards);
    shards_seen = each.shard + 1 == each.shards ? 0 : each.shard + 1;
    // Replicas of a module are cut alike: their gradients are summed stage by stage.
    std::int32_t& stages = stages_of_modules[each.module];
    if (stages != 0 && stages != each.stages) return wrong(each.stages, stages);
    stages = each.stages;
    std::int32_t& sums = sums_of_modules[each.module];
    const std::int32_t how = (each.sums_each ? 1 : 0) + (each.meets_each ? 2 : 0),
                       own_sums = how > 0 ? 4 * each.microbatches + how : 0;
    if (sums >= 0 && sums != own_sums) return wrong(own_sums, sums);
    sums = own_sums;
    if (each.lane < 0 || each.lane >= lane::most_computing) return wrong(each.lane, lane::most_computing);
    if (each.offload_beyond < 0) return wrong(each.offload_beyond, 0);
    std::int32_t& computed = lanes_of_modules[each.module];
    if (computed >= 0 && computed != each.lane) return wrong(each.lane, computed);
    computed = each.lane;
    places += each.stages;
    cells += isize{each.stages} * each.microbatches;
    if (cells > most_cells) return {reason::too_large, -1, -1, -1, cells, most_cells};
  }
  if (shards_seen != 0) return wrong(shards_seen, 0);
  // Every pair takes one instruction at least, so what a reader allots stays within what it was given.
  if (cells > of.instructions.size()) return wrong(of.instructions.size(), cells);
  if (of.places.size() != places) return wrong(of.places.size(), places);
  if (of.slots.size() != places) return wrong(of.slots.size(), places);
  if (of.starts.empty() || of.starts[0] != 0 || of.starts.back() != of.instructions.size())
    return wrong(of.starts.size(), of.instructions.size());
  for (isize r = 0; r + 1 < of.starts.size(); ++r)
    if (of.starts[r] > of.starts[r + 1]) return wrong(of.starts[r], of.starts[r + 1]);
  for (const std::int32_t place : of.places)
    if (place < 0 || place >= of.ranks()) return wrong(place, of.ranks());
  if (const misfed found = find_misfed(of.voices, of.feeds); !found.ok()) return wrong(found.from, found.to);
  return {};
}

}  // namespace motet
