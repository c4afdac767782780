// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/structure.hpp>
#include <motet/schedule/core/rules.hpp>

namespace motet {

// A message gets across by a rendezvous, where a send and its receive take place together, so that a send can
// block; or it is buffered, and a send is done at once.
enum class delivery : std::uint8_t { buffered, rendezvous };

// The graph knows who waits for whom. An instruction waits for the one before it in its lane, for others of
// its rank or, to receive what was buffered, for the send, and, where it has a meeting, for all who take
// part.
struct program_graph {
  list<std::int32_t> wait_starts;     // of each instruction in waits, and the end
  list<std::int32_t> waits;           // -1: for nothing
  list<std::int32_t> meetings;        // of each instruction; -1: none
  list<std::int32_t> order;           // instructions lane after lane
  list<std::int32_t> lane_starts;     // lanes + 1 positions in order
  list<std::int32_t> lane_ranks;      // of each lane
  list<std::int32_t> meeting_sizes;   // of joins, reductions and, with rendezvous, messages
  list<std::int32_t> first_meetings;  // of each join; then reductions begin
  // of each module its first meeting, one for each stage; -1: it has no replicas
  list<std::int32_t> reductions;
  // of each voice the first meeting of its shards, which compute together; -1: it is not sharded
  list<std::int32_t> together;
  // of each module the first meeting of its backwards, where each sums gradients, or of all its computations,
  // where each gathers weights; -1: replicas compute by themselves
  list<std::int32_t> sums;
  std::int32_t computations = 0;  // the first of all those; before it lie joins and reductions

  struct wait_view {
    const std::int32_t* first;
    const std::int32_t* last;
    constexpr const std::int32_t* begin() const { return first; }
    constexpr const std::int32_t* end() const { return last; }
  };
  // Each instruction has one before it in its lane; -1: none.
  constexpr list<std::int32_t> previous_in_lane() const {
    list<std::int32_t> previous(order.size(), -1);
    for (isize l = 0; l + 1 < lane_starts.size(); ++l)
      for (std::int32_t p = lane_starts[l] + 1; p < lane_starts[l + 1]; ++p)
        previous[order[p]] = order[p - 1];
    return previous;
  }
  constexpr wait_view waits_of(std::int32_t i) const {
    return {waits.data() + wait_starts[i], waits.data() + wait_starts[i + 1]};
  }
};

namespace detail {

// The rank where a voice meets the others of its join.
constexpr std::int32_t home(const program& from, const voice& of) { return from.place(of, of.stages - 1); }

// Joins first, one meeting for each group; then reductions, one for each stage of each module with replicas
// or shards; then computations of shards, for each (stage, microbatch) its forward, its forward again, its
// backward and its backward's weight part.
constexpr finding put_meetings(const program& from, program_graph& to) {
  list<std::int32_t>& sizes = to.meeting_sizes;
  for (std::int32_t j = 0; j < from.joins; ++j) {
    std::int32_t members = 0, groups = 0;
    for (isize v = 0; v < from.voices.size(); ++v) {
      const voice& each = from.voices[v];
      if (each.join != j) continue;
      if (groups > 0 && groups != each.joins())
        return {reason::joins_differ, -1, -1, -1, each.joins(), groups};
      groups = each.joins();
      // A rank that holds several members meets the others once.
      bool known = false;
      for (isize u = 0; u < v; ++u)
        known = known || (from.voices[u].join == j && home(from, from.voices[u]) == home(from, each));
      members += known ? 0 : 1;
    }
    to.first_meetings.push(static_cast<std::int32_t>(sizes.size()));
    sizes.resize(sizes.size() + groups, members);
  }
  to.first_meetings.push(static_cast<std::int32_t>(sizes.size()));
  const list<std::int32_t> replicas = replicas_of_modules(from.voices);
  to.reductions.resize(from.voices.size(), -1);
  for (const voice& each : from.voices) {
    if (to.reductions[each.module] >= 0 || replicas[each.module] < 2) continue;
    to.reductions[each.module] = static_cast<std::int32_t>(sizes.size());
    sizes.resize(sizes.size() + each.stages, replicas[each.module]);
  }
  to.computations = static_cast<std::int32_t>(sizes.size());
  for (const voice& each : from.voices) {
    if (each.shard > 0) {
      to.together.push(to.together.back());
      continue;
    }
    to.together.push(each.shards > 1 ? static_cast<std::int32_t>(sizes.size()) : -1);
    if (each.shards > 1) sizes.resize(sizes.size() + isize{4} * each.stages * each.microbatches, each.shards);
  }
  to.sums.resize(from.voices.size(), -1);
  for (const voice& each : from.voices) {
    if (!(each.sums_each || each.meets_each) || to.sums[each.module] >= 0 || replicas[each.module] < 2)
      continue;
    to.sums[each.module] = static_cast<std::int32_t>(sizes.size());
    sizes.resize(sizes.size() + isize{each.meets_each ? 4 : 1} * each.stages * each.microbatches,
                 replicas[each.module]);
  }
  return {};
}

// Sends and receives wait for each other: a receive so far waited for its send.
constexpr void meet_in_messages(const program& from, program_graph& to) {
  for (std::int32_t i = 0; i < from.instructions.size(); ++i) {
    if (!is_receive(from.instructions[i].what)) continue;
    const std::int32_t send = std::exchange(to.waits[to.wait_starts[i]], -1);
    if (send < 0) continue;
    to.meetings[send] = to.meetings[i] = static_cast<std::int32_t>(to.meeting_sizes.size());
    to.meeting_sizes.push(2);
  }
}

// Sorts the lists of all ranks into lanes.
constexpr void put_lanes(const program& from, program_graph& to) {
  list<std::int32_t> counts(256, 0);
  to.order.resize(from.instructions.size(), 0);
  const instruction* const all = from.instructions.data();
  std::int32_t *const order = to.order.data(), *const next = counts.data();
  for (std::int32_t r = 0; r < from.ranks(); ++r) {
    int lanes = 0;
    for (std::int32_t i = from.starts[r]; i < from.starts[r + 1]; ++i) {
      const int own = all[i].lane;
      for (; lanes <= own; ++lanes) next[lanes] = 0;
      ++next[own];
    }
    std::int32_t free = from.starts[r];
    for (int l = 0; l < lanes; ++l) {
      if (next[l] == 0) continue;
      to.lane_starts.push(free);
      to.lane_ranks.push(r);
      const std::int32_t size = next[l];
      next[l] = free;
      free += size;
    }
    for (std::int32_t i = from.starts[r]; i < from.starts[r + 1]; ++i) order[next[all[i].lane]++] = i;
  }
  to.lane_starts.push(static_cast<std::int32_t>(from.instructions.size()));
}

}  // namespace detail
}  // namespace motet
