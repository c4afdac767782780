// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/schedule/write/through.hpp>

namespace motet {

namespace detail {

constexpr batch_sync::shape towers_of(const plan& from) {
  batch_sync::shape all;
  all.count = static_cast<int>(from.modules.size());
  for (int k = 0; k < least(all.count, batch_sync::most_towers); ++k) {
    const module_plan& own = from.modules[k];
    all.towers[k] = {own.on.split().stages, own.microbatches, own.group, own.stash, own.ahead, true};
  }
  return all;
}

// Modules that feed one another, one replica of each, as one pipeline.
template <class Schedule>
constexpr verdict write_seats_through(const plan& from, const list<module_facts>& facts, score& out) {
  constexpr bool all_first = std::is_same_v<Schedule, gpipe>;
  if (!all_first && !std::is_same_v<Schedule, one_f_one_b>) return {reason::schedule_without_edges, 0, 0, 0};
  through_shape shape;
  shape.all_first = all_first;
  shape.microbatches = from.modules[0].microbatches;
  for (index k = 0; k < from.modules.size(); ++k) {
    const module_plan& own = from.modules[k];
    if (own.chunks != 1) return {reason::chunks_are_fixed, k, own.chunks, 1};
    if (own.stash != -1 || own.ahead != 0)
      return {reason::only_batch_sync_keeps, k, own.stash != -1 ? own.stash : own.ahead, 0};
    through_module made;
    made.from = facts[k].from;
    made.learns = !facts[k].frozen || facts[k].passes;
    made.fixed = facts[k].frozen;
    made.meets = facts[k].meets;
    for (std::int32_t s = 0; s < own.on.split().stages; ++s) made.ranks.push(own.on.rank({s, 0, 0, 0}));
    shape.modules.push(made);
  }
  if (const verdict found = check_through(shape); !found.ok()) return found;
  out = write_through(shape);
  return {};
}

// One replica of every module by itself, on a device for each stage, one module behind another.
template <class Schedule>
constexpr verdict write_seats(const plan& from, const list<module_facts>& facts, score& out) {
  if constexpr (std::is_same_v<Schedule, batch_sync>) {
    for (index k = 0; k < from.modules.size(); ++k)
      if (from.modules[k].chunks != 1) return {reason::chunks_are_fixed, k, from.modules[k].chunks, 1};
    if (const verdict found = batch_sync::check(towers_of(from)); !found.ok()) return found;
    out = batch_sync::write(towers_of(from));
  } else {
    for (index k = 0; k < from.modules.size(); ++k) {
      const module_plan& own = from.modules[k];
      const pipeline_shape shape{
          .stages = own.on.split().stages, .microbatches = own.microbatches, .chunks = own.chunks};
      if (verdict found = Schedule::check(shape); !found.ok()) {
        found.where = k;
        return found;
      }
      if (own.stash != -1 || own.ahead != 0)
        return {reason::only_batch_sync_keeps, k, own.stash != -1 ? own.stash : own.ahead, 0};
      score one = Schedule::write(shape);
      // g++ 12 destroys the temporary of a conditional twice in constant expressions.
      if (k == 0) out = static_cast<score&&>(one);
      else out = beside(out, one);
    }
    out = joined(out, from.modules[0].groups());
  }
  for (index k = 0; k < from.modules.size(); ++k)
    if (facts[k].frozen) out = without_backward(out, static_cast<int>(k));
  return {};
}

}  // namespace detail

// The order that a plan means: its schedule's, with every replica and shard of every module on the ranks that
// it has. For plans that check() passes. `together`: as if several ranks computed some stage, for one rank
// that stands for them.
constexpr verdict write_plan(const plan& from, const list<module_facts>& facts, score& out,
                             bool together = false) {
  verdict found;
  score seats;
  const bool through = has_edges(facts);
  const bool known = all_schedules::visit(from.schedule.view(), [&]<class Schedule>(Schedule) {
    found = through ? detail::write_seats_through<Schedule>(from, facts, seats)
                    : detail::write_seats<Schedule>(from, facts, seats);
  });
  if (!known) return {reason::unknown_schedule, 0, 0, 0};
  if (!found.ok()) return found;
  list<voice_spread> spreads;
  list<std::int32_t> first_seats;
  std::int32_t first = 0;
  for (const module_plan& own : from.modules) {
    spreads.push({own.on.split().data, own.shards(), own.zero > 1});
    first_seats.push(first);
    first += own.on.split().stages;
  }
  out = placed(
      seats, spreads, from.cluster.ranks,
      [&](std::int32_t v, std::int32_t replica, std::int32_t shard, std::int32_t stage) {
        const module_plan& own = from.modules[v];
        const std::int32_t device = through ? stage : seats.place(seats.voices()[v], stage) - first_seats[v],
                           tensor = own.on.split().tensor;
        return own.on.rank({device, replica, shard / tensor, shard % tensor});
      },
      together);
  // What backward makes again is gone before a later weight part could read it.
  list<std::uint8_t> splits(from.modules.size(), 0);
  for (const std::int64_t code : seats.codes())
    if (const cue each(code); each.what == op::backward_input) splits[seats.voices()[each.voice].module] = 1;
  for (index k = 0; k < from.modules.size(); ++k)
    for (const std::uint8_t each : from.modules[k].remade)
      if (each != 0 && splits[k] != 0) return {reason::remade_and_split, k, 1, 0};
  return {};
}

}  // namespace motet
