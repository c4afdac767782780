// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/plan/prove/plan_filling.hpp>
#include <motet/plan/prove/plan_of_others.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/core/offload.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/place/fill.hpp>
#include <motet/schedule/place/multiplex.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/schedule/write/through.hpp>
#include <motet/strategy/rules.hpp>

#include <numeric>

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

// All modules cut the samples of a step in the same parts.
constexpr bool cut_alike(const list<module_plan>& all) {
  for (const module_plan& each : all)
    if (each.on.split().data != all[0].on.split().data ||
        each.on.split().tensor != all[0].on.split().tensor ||
        each.on.split().context != all[0].on.split().context || each.microbatches != all[0].microbatches)
      return false;
  return true;
}
// The rows of one microbatch go on to several ranks that cut its samples, or come from several.
constexpr bool hands_out_rows(const list<module_plan>& all, const list<module_facts>& facts) {
  for (isize k = 0; k < all.size(); ++k)
    for (const std::int32_t source : facts[k].from)
      if ((facts[k].takes_parts && all[k].on.split().context > 1) ||
          (facts[source].gives_parts && all[source].on.split().context > 1))
        return true;
  return false;
}
// As many samples as a step has where nobody said: all modules cut them evenly.
constexpr isize even_samples(const plan& of) {
  isize all = 1;
  for (const module_plan& each : of.modules) all = std::lcm(all, each.parts(1).count());
  return all;
}

// A voice of the seats of a plan.
struct plan_seat {
  std::int32_t module = 0, replica = 0;
  std::int32_t first = -1;  // of the seats that are its devices; -1: each stage is one
};

// What a program's own schedule wrote that the plan has not; `what` is null where all is as the plan says.
struct unlike_plan {
  const char* what = nullptr;
  isize got = 0, wanted = 0;
};
constexpr unlike_plan find_unlike(const score& made, const module_plan& own) {
  if (made.voices().size() != 1) return {"voices", made.voices().size(), 1};
  const voice& plays = made.voices()[0];
  const std::int32_t devices = own.on.split().stages;
  if (plays.stages != own.stages()) return {"stages", plays.stages, own.stages()};
  if (plays.chunks != own.chunks) return {"chunks", plays.chunks, own.chunks};
  if (plays.microbatches != own.microbatches) return {"microbatches", plays.microbatches, own.microbatches};
  if (made.ranks() != devices) return {"ranks", made.ranks(), devices};
  if (plays.join >= 0) return {"losses of its own", plays.joins(), 0};
  for (std::int32_t s = 0; s < plays.stages; ++s)
    if (const std::int32_t at = made.place(plays, s); at < 0 || at >= devices)
      return {"as the last rank of a stage", at, devices - 1};
  return {};
}

// One replica of a module by itself, on a device for each stage.
template <class Schedule>
constexpr verdict write_module(const Schedule& plays, const module_plan& own, isize k, score& out) {
  const pipeline_shape shape{
      .stages = own.on.split().stages, .microbatches = own.microbatches, .chunks = own.chunks};
  if (const verdict found = plays.check(shape); !found.ok()) return {found.why, k, found.got, found.wanted};
  out = plays.write(shape);
  if constexpr (std::is_same_v<Schedule, own_schedule>)
    if (const unlike_plan found = find_unlike(out, own); found.what != nullptr)
      return {reason::own_schedule_unlike_plan, k, found.got, found.wanted};
  return {};
}

// Modules that feed one another as one pipeline: one replica of each, where all are cut alike; else all
// replicas.
template <class Schedule>
constexpr verdict write_seats_through(const Schedule& plays, const plan& from,
                                      const list<module_facts>& facts, isize samples, score& out,
                                      list<plan_seat>& seats) {
  constexpr bool all_first = std::is_same_v<Schedule, gpipe>,
                 of_all = all_first || std::is_same_v<Schedule, one_f_one_b>;
  through_shape shape;
  shape.all_first = all_first;
  shape.samples = samples;
  if (all_first && from.modules[0].whole_group() > 1) shape.group = from.modules[0].whole_group();
  isize meeting = 0;
  for (const module_facts& each : facts) meeting += each.meets ? 1 : 0;
  const bool alike = cut_alike(from.modules);
  list<std::int32_t> first;  // voice of each module
  std::int32_t voices = 0;
  for (const module_plan& own : from.modules) {
    first.push(voices);
    voices += alike ? 1 : own.on.split().data;
  }
  for (isize k = 0; k < from.modules.size(); ++k) {
    const module_plan& own = from.modules[k];
    const bool by_itself = !of_all && facts[k].meets;
    if constexpr (std::is_same_v<Schedule, batch_sync>) {
      return {reason::schedule_without_edges, 0, 0, 0};
    } else if (by_itself) {
      if (meeting > 1) return {reason::schedule_without_edges, k, meeting, 1};
      if (const verdict found = write_module(plays, own, k, shape.last); !found.ok()) return found;
      shape.last = joined(shape.last, own.groups());
    } else if (own.chunks != 1) {
      return {reason::chunks_are_fixed, k, own.chunks, 1};
    }
    if (own.stash != -1 || own.ahead != 0)
      return {reason::only_batch_sync_keeps, k, own.stash != -1 ? own.stash : own.ahead, 0};
    const std::int32_t replicas = alike ? 1 : own.on.split().data;
    for (std::int32_t r = 0; r < replicas; ++r) {
      through_module made;
      made.module = static_cast<std::int32_t>(k);
      made.replica = r;
      made.replicas = replicas;
      made.sums_each = replicas > 1 && own.zero > 1;
      made.meets_each = replicas > 1 && own.meets_each();
      made.microbatches = own.microbatches;
      for (const std::int32_t source : facts[k].from)
        for (std::int32_t p = 0; p < (alike ? 1 : from.modules[source].on.split().data); ++p)
          made.from.push(first[source] + p);
      made.learns = !facts[k].frozen || facts[k].passes;
      made.fixed = facts[k].frozen;
      made.meets = facts[k].meets;
      made.join = facts[k].join;
      for (std::int32_t s = 0; s < own.stages(); ++s) {
        const std::int32_t device = by_itself ? shape.last.place(shape.last.voices()[0], s) : s;
        made.ranks.push(own.on.rank({device, r, 0, 0}));
      }
      shape.modules.push(made);
      seats.push({made.module, r});
    }
  }
  if (const verdict found = check_through(shape); !found.ok()) return found;
  out = write_through(shape);
  for (isize v = 0; v < seats.size(); ++v)
    if (shape.has_order(shape.modules[v])) {
      const voice& own = out.voices()[v];
      seats[v].first = out.place(own, 0) - shape.last.place(shape.last.voices()[0], 0);
    }
  return {};
}

// Where modules are cut unlike, parts that an edge joins feed each other if they have samples of each other.
// A part without samples stays with the one at its place, with which it exchanges no rows. Ranks that cut the
// samples of a module that takes parts are fed by all that have one of these, and those of one that gives
// parts feed all who do.
constexpr void feed_by_samples(const plan& from, const list<module_facts>& facts, isize samples, score& out) {
  list<fed_cell> feeds;
  list<std::int32_t> first(from.modules.size(), -1);  // voice of each module
  for (std::int32_t v = static_cast<std::int32_t>(out.voices().size()); v-- > 0;)
    first[out.voices()[v].module] = v;
  const auto voice_of = [&](isize module, std::int32_t replica, std::int32_t shard) {
    return first[module] + replica * from.modules[module].shards() + shard;
  };
  for (isize k = 0; k < from.modules.size(); ++k) {
    const sample_parts own = from.modules[k].parts(samples);
    for (const std::int32_t source : facts[k].from) {
      const sample_parts others = from.modules[source].parts(samples);
      own.each([&](std::int32_t m, std::int32_t r, std::int32_t part, interval has) {
        if (facts[k].takes_parts) has = own.shared(m, r, part);
        const auto feed = [&](std::int32_t n, std::int32_t replica, std::int32_t shard) {
          feeds.push({voice_of(source, replica, shard), n, voice_of(k, r, part), m});
        };
        if (facts[source].gives_parts) others.each_sharing(has, feed);
        else others.each_with(has, feed);
      });
      if (samples >= others.count()) continue;
      others.each([&](std::int32_t n, std::int32_t replica, std::int32_t shard, interval has) {
        if (facts[source].gives_parts) has = others.shared(n, replica, shard);
        if (has.size() > 0) return;
        own.each_with(has, [&](std::int32_t m, std::int32_t r, std::int32_t part) {
          feeds.push({voice_of(source, replica, shard), n, voice_of(k, r, part), m});
        });
      });
    }
  }
  out.feed_as(feeds);
}

// Where they are cut alike, a rank feeds the one at its place; of a module that takes parts, or is fed by one
// that gives them, all that cut the same samples.
constexpr void feed_places(const plan& from, const list<module_facts>& facts, score& out) {
  list<fed_cell> feeds;
  for (std::int32_t v = 0; v < out.voices().size(); ++v) {
    const voice& to = out.voices()[v];
    const std::int32_t tensor = from.modules[to.module].on.split().tensor;
    for (const std::int32_t source : facts[to.module].from)
      for (std::int32_t g = 0; g < out.voices().size(); ++g) {
        const voice& giver = out.voices()[g];
        const bool beside = (facts[to.module].takes_parts || facts[source].gives_parts) &&
                            giver.shard % tensor == to.shard % tensor;
        if (giver.module != source || giver.replica != to.replica || !(beside || giver.shard == to.shard))
          continue;
        for (std::int32_t m = 0; m < to.microbatches; ++m) feeds.push({g, m, v, m});
      }
  }
  out.feed_as(feeds);
}

// One replica of every module by itself, on a device for each stage, one module behind another.
template <class Schedule>
constexpr verdict write_seats(const Schedule& plays, const plan& from, const list<module_facts>& facts,
                              score& out) {
  if constexpr (std::is_same_v<Schedule, batch_sync>) {
    for (isize k = 0; k < from.modules.size(); ++k)
      if (from.modules[k].chunks != 1) return {reason::chunks_are_fixed, k, from.modules[k].chunks, 1};
    if (const verdict found = batch_sync::check(towers_of(from)); !found.ok()) return found;
    out = batch_sync::write(towers_of(from));
  } else {
    for (isize k = 0; k < from.modules.size(); ++k) {
      const module_plan& own = from.modules[k];
      score one;
      if (const verdict found = write_module(plays, own, k, one); !found.ok()) return found;
      if (own.stash != -1 || own.ahead != 0)
        return {reason::only_batch_sync_keeps, k, own.stash != -1 ? own.stash : own.ahead, 0};
      // g++ 12 destroys the temporary of a conditional twice in constant expressions.
      if (k == 0) out = static_cast<score&&>(one);
      else out = beside(out, one);
    }
    out = joined(out, from.modules[0].groups());
  }
  for (isize k = 0; k < from.modules.size(); ++k)
    if (facts[k].frozen) out = without_backward(out, static_cast<int>(k));
  return {};
}

}  // namespace detail

namespace detail {

constexpr verdict write_computations(const plan& from, const list<module_facts>& facts, score& out,
                                     isize samples, bool together);

// Those that fill go into the gaps of the others.
constexpr verdict write_filled(const plan& from, const list<module_facts>& facts, filled_score& found,
                               isize samples, bool together) {
  const plan_of_others others(from, facts, &module_plan::fills);
  filling how;
  isize narrowest = 0;  // the module with the least room
  for (isize k = 0; k < from.modules.size(); ++k) {
    const module_plan& own = from.modules[k];
    how.modules.push(own.fills ? 1 : 0);
    if (own.room > 0 && (how.room == 0 || own.room < how.room)) {
      how.room = own.room;
      narrowest = k;
    }
  }
  score alone;
  if (const verdict broken = write_computations(others.value(), others.facts(), alone, samples, together);
      !broken.ok())
    return others.told(broken);
  score all = others.with_voices_of_all(alone);
  feed_by_samples(from, facts, samples, all);
  how.costs = costs_of_plan(from, facts, all);
  verdict filled = fill_gaps(all, how, found);
  if (filled.why == reason::too_little_memory) filled.where = narrowest;
  return filled;
}
// Those that are multiplexed go between the others.
constexpr verdict write_multiplexed(const plan& from, const list<module_facts>& facts, score& out,
                                    isize samples, bool together) {
  const plan_of_others others(from, facts, &module_plan::multiplexed);
  multiplexing how;
  for (const module_plan& own : from.modules) {
    how.modules.push(own.multiplexed ? 1 : 0);
    how.ahead.push(own.multiplexed ? own.ahead : 0);
  }
  score alone;
  if (const verdict broken = write_computations(others.value(), others.facts(), alone, samples, together);
      !broken.ok())
    return others.told(broken);
  score all = others.with_voices_of_all(alone);
  feed_by_samples(from, facts, samples, all);
  out = multiplex(all, how);
  return {};
}

// Writes all but what leaves the device's memory.
constexpr verdict write_computations(const plan& from, const list<module_facts>& facts, score& out,
                                     isize samples, bool together) {
  if (samples == 0 && one_way(facts)) samples = detail::even_samples(from);
  if (detail::some_fill(from)) {
    filled_score found;
    const verdict filled = detail::write_filled(from, facts, found, samples, together);
    out = static_cast<score&&>(found.order);
    return filled;
  }
  if (some_are_multiplexed(from)) return write_multiplexed(from, facts, out, samples, together);
  verdict found;
  score seats;
  const bool through = one_way(facts), alike = !through || detail::cut_alike(from.modules);
  list<detail::plan_seat> seat_of;
  const auto write_by = [&](const auto& plays) {
    found = through ? detail::write_seats_through(plays, from, facts, samples, seats, seat_of)
                    : detail::write_seats(plays, from, facts, seats);
  };
  if (from.own) write_by(from.own);
  else if (!all_schedules::visit(from.schedule.view(), write_by)) return {reason::unknown_schedule, 0, 0, 0};
  if (!found.ok()) return found;
  list<voice_spread> spreads;
  std::int32_t first = 0;
  for (isize v = 0; v < seats.voices().size(); ++v) {
    if (!through) seat_of.push({static_cast<std::int32_t>(v), 0, first});
    const module_plan& own = from.modules[seat_of[v].module];
    spreads.push({alike ? own.on.split().data : 1, own.shards(), own.zero > 1, own.meets_each()});
    first += own.on.split().stages;
  }
  out = placed(
      seats, spreads, from.cluster.ranks,
      [&](std::int32_t v, std::int32_t replica, std::int32_t shard, std::int32_t stage) {
        const module_plan& own = from.modules[seat_of[v].module];
        const std::int32_t begin = seat_of[v].first,
                           device = begin < 0 ? stage : seats.place(seats.voices()[v], stage) - begin,
                           tensor = own.on.split().tensor;
        return own.on.rank({device, seat_of[v].replica + replica, shard / tensor, shard % tensor});
      },
      together);
  if (!alike) detail::feed_by_samples(from, facts, samples, out);
  else if (through && detail::hands_out_rows(from.modules, facts)) detail::feed_places(from, facts, out);
  for (isize v = 0; v < out.voices().size(); ++v)
    if (const std::int32_t own = from.modules[out.voices()[v].module].lane; own > 0)
      out.compute_in(static_cast<int>(v), own);
  // Values that backward makes again are gone before a later weight part could read them.
  list<std::uint8_t> splits(from.modules.size(), 0);
  for (const std::int64_t code : seats.codes())
    if (const cue each(code); each.what == op::backward_input) splits[seats.voices()[each.voice].module] = 1;
  for (isize k = 0; k < from.modules.size(); ++k)
    for (const std::uint8_t each : from.modules[k].remade)
      if (each != 0 && splits[k] != 0) return {reason::remade_and_split, k, 1, 0};
  return {};
}

}  // namespace detail

// The order that a plan means: its schedule's, with every replica and shard of every module on the ranks that
// it has. The plan must pass check_plan(). `samples`: those of a step, of which it depends who feeds whom; 0:
// as many as all modules cut evenly. `together`: as if several ranks computed some stage, for one rank that
// stands for them.
constexpr verdict write_plan(const plan& from, const list<module_facts>& facts, score& out, isize samples = 0,
                             bool together = false) {
  if (const verdict found = detail::write_computations(from, facts, out, samples, together); !found.ok())
    return found;
  for (isize v = 0; v < out.voices().size(); ++v)
    out.offload_beyond(static_cast<int>(v), from.modules[out.voices()[v].module].offload_beyond);
  const short_of_room needs = find_short_of_room(out);
  if (!needs.is_there()) return {};
  const std::int32_t k = out.voices()[needs.voice].module;
  return {reason::offload_beyond_too_few, k, from.modules[k].offload_beyond, needs.most};
}

}  // namespace motet
