// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/schedule/core/score.hpp>

namespace motet {

// Says whether some module of a plan is multiplexed.
constexpr bool some_are_multiplexed(const plan& of) {
  for (const module_plan& each : of.modules)
    if (each.multiplexed) return true;
  return false;
}

// Says whether replicas of some module share its experts.
constexpr bool some_share_experts(const plan& of) {
  for (const module_plan& each : of.modules)
    if (each.experts > 1) return true;
  return false;
}

namespace detail {

// The modules of a plan whose order is found first: those that do not fill, or are not multiplexed. They are
// a plan of their own, and where its order is known the voices of all modules stand beside it.
class plan_of_others {
 public:
  constexpr plan_of_others(const plan& from, const list<module_facts>& facts, bool module_plan::*left_out)
      : from_(from), all_facts_(facts), others_{from.cluster, from.schedule, {}, from.own} {
    for (const module_plan& own : from.modules) {
      const bool stays = !(own.*left_out);
      place_.push(stays ? static_cast<std::int32_t>(others_.modules.size()) : -1);
      if (stays) others_.modules.push(own);
    }
    // Where all losses are with those left out, the others have an order as if their end were one.
    no_loss_ = !some_meet();
    for (isize k = 0; k < from.modules.size(); ++k) {
      if (place_[k] < 0) continue;
      module_facts made = facts[k];
      if (no_loss_) made.meets = feeds_left_out_alone(k);
      made.from = {};
      made.frozen = facts[k].frozen && !facts[k].passes;  // else backward goes through it
      made.passes = made.passes && !made.frozen;
      for (const std::int32_t source : facts[k].from)
        if (place_[source] >= 0) made.from.push(place_[source]);
      facts_.push(made);
    }
  }
  constexpr const plan& value() const { return others_; }
  constexpr const list<module_facts>& facts() const { return facts_; }
  // What is wrong with the others, told of the whole plan's modules.
  constexpr verdict told(const verdict& broken) const {
    for (isize k = 0; k < place_.size(); ++k)
      if (place_[k] == broken.where) return {broken.why, k, broken.got, broken.wanted};
    return broken;
  }
  // All voices in the order of modules, and the others' order; nobody feeds anybody.
  constexpr score with_voices_of_all(const score& alone) const {
    score all;
    list<std::int32_t> number(alone.voices().size(), 0);
    for (isize k = 0; k < from_.modules.size(); ++k) {
      if (place_[k] >= 0) add_again(alone, k, number, all);
      else add_left_out(k, all);
    }
    for (std::int32_t r = 0; r < alone.ranks(); ++r) {
      all.rank();
      for (std::int32_t i = alone.begin_of(r); i < alone.end_of(r); ++i) {
        const cue each = alone[i];
        if (each.what == op::join && no_loss_) continue;
        if (each.what == op::join) all.join(each.voice, each.microbatch, each.aside);
        else all.play(each.what, number[each.voice], each.stage, each.microbatch);
        if (each.paired) all.pair_with_next();
      }
    }
    return all;
  }

 private:
  constexpr bool some_meet() const {
    for (isize k = 0; k < place_.size(); ++k)
      if (place_[k] >= 0 && all_facts_[k].meets) return true;
    return false;
  }
  // Whoever the module feeds is left out.
  constexpr bool feeds_left_out_alone(isize module) const {
    for (isize k = 0; k < place_.size(); ++k)
      for (const std::int32_t source : all_facts_[k].from)
        if (source == module && place_[k] >= 0) return false;
    return true;
  }
  constexpr void add_again(const score& alone, isize k, list<std::int32_t>& number, score& all) const {
    for (isize v = 0; v < alone.voices().size(); ++v) {
      voice made = alone.voices()[v];
      const voice old = made;
      if (made.module != place_[k]) continue;
      made.module = static_cast<std::int32_t>(k);
      made.fixed = made.learns && all_facts_[k].frozen;
      made.sums_each = made.sums_each && !made.fixed;
      made.meets_each = made.meets_each && (!made.fixed || from_.modules[k].experts > 1);
      if (no_loss_) made.join = -1;
      number[v] = all.add(made, [&](int stage) { return alone.place(old, stage); });
    }
  }
  constexpr void add_left_out(isize k, score& all) const {
    const module_plan& own = from_.modules[k];
    const degrees& split = own.on.split();
    const module_facts& facts = all_facts_[k];
    for (std::int32_t r = 0; r < split.data; ++r)
      for (std::int32_t t = 0; t < own.shards(); ++t) {
        voice made;
        made.module = static_cast<std::int32_t>(k);
        made.replica = r;
        made.shard = t;
        made.shards = own.shards();
        made.stages = own.stages();
        made.chunks = own.chunks;
        made.microbatches = own.microbatches;
        if (facts.meets) made.join = facts.join;
        made.group = own.whole_group();
        made.learns = !facts.frozen || facts.passes;
        made.fixed = made.learns && facts.frozen;
        made.sums_each = own.zero > 1 && split.data > 1 && made.updates();
        made.meets_each = own.experts > 1 || (own.zero > 2 && made.sums_each);
        made.lane = own.lane;
        all.add(made, [&](int stage) {
          return own.on.rank({stage / own.chunks, r, t / split.tensor, t % split.tensor});
        });
      }
  }

  const plan& from_;
  const list<module_facts>& all_facts_;
  plan others_;
  list<module_facts> facts_;
  list<std::int32_t> place_;  // of each module among the others; -1: it is left out
  bool no_loss_ = false;
};

}  // namespace detail

}  // namespace motet
