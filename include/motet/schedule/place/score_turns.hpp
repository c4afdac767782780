// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/core/score.hpp>

namespace motet {

// A filling says which modules of a score go into the gaps that the others leave.
struct filling {
  list<std::uint8_t> modules;  // of each: whether it does
  cost_table costs;            // of the score's places
  std::int32_t room = 0;       // microbatches that a stage of theirs keeps at once; 0: any number
};

namespace detail {

// The others of a score do their work in turns of their ranks: this knows what each takes, what starts
// together on several ranks, and how late each may start.
class score_turns {
 public:
  constexpr score_turns(const score& from, const filling& how)
      : from_(from), how_(how), links_(from.voices(), from.feeds()) {
    find_members();
    find_turns();
    find_meetings();
    find_turns_of_cells();
  }

 protected:
  // Cues of a rank that run overlapped, mostly one; `group` are those of all ranks that start together.
  struct turn {
    std::int32_t rank = 0, begin = 0, end = 0, group = -1;
  };
  struct turn_group {
    list<std::int32_t> turns;
    double seconds = 0, latest = 0;  // its latest start, behind the end of the step
    std::int32_t waiting = 0;        // turns that are not yet the next of their rank
  };

  constexpr const voice& sings(std::int32_t v) const { return from_.voices()[v]; }
  constexpr std::int32_t place(std::int32_t v, std::int32_t s) const { return sings(v).first_place + s; }
  constexpr std::int32_t rank_of(std::int32_t v, std::int32_t s) const { return from_.places()[place(v, s)]; }
  constexpr bool fills(std::int32_t v) const {
    return sings(v).module < how_.modules.size() && how_.modules[sings(v).module] != 0;
  }
  // What fills ends in this loss.
  constexpr bool join_fills(std::int32_t j) const { return !members_[j].empty() && fills(members_[j][0]); }
  constexpr double cost(op what, std::int32_t v, std::int32_t s, std::int32_t m) const {
    if (what == op::join) return how_.costs.joins.empty() ? 0 : how_.costs.joins[v];
    return seconds(what, v, s, m);
  }
  constexpr double seconds(op what, std::int32_t v, std::int32_t s, std::int32_t m) const {
    const stage_cost& own = how_.costs.stages[place(v, s)];
    const double each = is_forward(what)              ? own.forward
                        : what == op::backward_input  ? own.backward_input
                        : what == op::backward_weight ? own.backward_weight
                                                      : own.backward_input + own.backward_weight;
    return each * (how_.costs.scale.empty() ? 1 : how_.costs.scale[sings(v).cell(s, m)]);
  }
  constexpr double transfer(const cell_seat& from, std::int32_t v, std::int32_t s, bool back) const {
    const std::int32_t there = rank_of(from.voice, from.stage), here = rank_of(v, s);
    if (there == here) return 0;
    const wire way = how_.costs.between(there, here);
    const stage_cost& own = how_.costs.stages[place(from.voice, from.stage)];
    return way.latency + way.seconds(back ? own.backward_bytes : own.forward_bytes);
  }

  // Finds how late each group may start so that what comes behind it is not late. `sequence`: an order in
  // which they can be played.
  constexpr void find_latest(const list<std::int32_t>& sequence) {
    list<double> tails(groups_.size(), 0);  // from its start on
    for (isize k = sequence.size(); k-- > 0;) {
      const std::int32_t g = sequence[k];
      double behind = 0;
      const auto follows = [&](std::int32_t other, double wait) {
        if (other >= 0 && other != g && tails[other] + wait > behind) behind = tails[other] + wait;
      };
      for (const std::int32_t t : groups_[g].turns) {
        const turn& own = turns_[t];
        if (t + 1 < turns_of_rank_[own.rank + 1]) follows(turns_[t + 1].group, 0);
        for (std::int32_t i = own.begin; i < own.end; ++i) {
          const cue it = from_[i];
          if (it.what == op::join) {
            for (const std::int32_t v : members_[it.voice])
              for (std::int32_t m = it.microbatch * sings(v).group; m < (it.microbatch + 1) * sings(v).group;
                   ++m)
                follows(by_kind_[2][sings(v).cell(sings(v).stages - 1, m)], 0);
            continue;
          }
          const int kind = message_kind(it.what);
          if (kind == 0 && sings(it.voice).join >= 0 && it.stage + 1 == sings(it.voice).stages)
            for (const std::int32_t other : joins_of_meetings_[meeting(it.voice, it.microbatch)])
              follows(other, 0);
          if (kind < 0) continue;
          links_.each_target(kind, it.voice, it.stage, it.microbatch, [&](const cell_seat& at, int, int) {
            follows(by_kind_[kind][links_.cell(at)],
                    transfer({it.voice, it.stage, it.microbatch}, at.voice, at.stage, kind == 2));
          });
        }
      }
      tails[g] = behind + groups_[g].seconds;
    }
    for (isize g = 0; g < groups_.size(); ++g) groups_[g].latest = -tails[g];
  }
  constexpr std::int32_t meeting_of(const cue& join) const {
    return first_meetings_[join.voice] + join.microbatch;
  }
  constexpr std::int32_t meeting(std::int32_t v, std::int32_t m) const {
    return first_meetings_[sings(v).join] + m / sings(v).group;
  }

  const score& from_;
  const filling& how_;
  cell_links links_;
  list<turn> turns_;                  // rank after rank
  list<std::int32_t> turns_of_rank_;  // where those of each begin
  list<turn_group> groups_;
  list<list<std::int32_t>> members_;    // voices of each join
  list<std::int32_t> arrivals_wanted_;  // of each meeting, from how many ranks

 private:
  // The others' cues, rank after rank, and which of them start together.
  constexpr void find_turns() {
    struct key {
      std::int64_t code = 0;  // of what starts together: the same operation of one replica, or of all
      std::int32_t turn = 0;
    };
    list<key> keys;
    turns_of_rank_.push(0);
    for (std::int32_t r = 0; r < from_.ranks(); ++r) {
      for (std::int32_t i = from_.begin_of(r); i < from_.end_of(r);) {
        const cue first = from_[i];
        if (first.what == op::join ? join_fills(first.voice) : fills(first.voice)) {
          ++i;
          continue;
        }
        turn made{r, i, i + 1};
        while (from_[made.end - 1].paired) ++made.end;
        i = made.end;
        std::int64_t leader = first.voice;
        if (first.what != op::join) {
          const voice& of = sings(first.voice);
          leader -= of.shard;
          if (of.meets_each || (of.sums_each && is_backward(first.what))) {
            leader = 0;
            while (sings(static_cast<std::int32_t>(leader)).module != of.module) ++leader;
          }
        }
        std::int64_t code = static_cast<std::int64_t>(first.what) | leader << 7 |
                            std::int64_t{first.stage} << 23 | std::int64_t{first.microbatch} << 43;
        // Aside, a join does not make its members wait for each other.
        if (first.what == op::join && first.aside) code = -1 - turns_.size();
        keys.push({code, static_cast<std::int32_t>(turns_.size())});
        turns_.push(made);
      }
      turns_of_rank_.push(static_cast<std::int32_t>(turns_.size()));
    }
    sort_stably(keys, [](const key& a, const key& b) {
      return a.code < b.code || (a.code == b.code && a.turn < b.turn);
    });
    for (isize k = 0; k < keys.size(); ++k) {
      if (k == 0 || keys[k].code != keys[k - 1].code) groups_.push({});
      turn& own = turns_[keys[k].turn];
      own.group = static_cast<std::int32_t>(groups_.size()) - 1;
      groups_.back().turns.push(keys[k].turn);
      double seconds = 0;
      for (std::int32_t i = own.begin; i < own.end; ++i)
        seconds += cost(from_[i].what, from_[i].voice, from_[i].stage, from_[i].microbatch);
      if (seconds > groups_.back().seconds) groups_.back().seconds = seconds;
    }
  }
  constexpr void find_members() {
    members_.resize(from_.joins(), {});
    for (std::int32_t v = 0; v < from_.voices().size(); ++v)
      if (sings(v).join >= 0) members_[sings(v).join].push(v);
  }
  constexpr void find_meetings() {
    std::int32_t meetings = 0;
    for (std::int32_t j = 0; j < from_.joins(); ++j) {
      first_meetings_.push(meetings);
      std::int32_t most = 0;
      for (const std::int32_t v : members_[j]) most = sings(v).joins() > most ? sings(v).joins() : most;
      meetings += most;
    }
    // Of a loss that what fills ends in, all arrive at once.
    arrivals_wanted_.resize(meetings, 0);
    for (std::int32_t j = 0; j < from_.joins(); ++j)
      for (std::int32_t g = 0; join_fills(j) && g < sings(members_[j][0]).joins(); ++g)
        arrivals_wanted_[first_meetings_[j] + g] = 1;
    for (const turn& each : turns_)
      if (const cue first = from_[each.begin]; first.what == op::join) ++arrivals_wanted_[meeting_of(first)];
  }
  // Finds which group runs each operation of each cell, by op; -1: none of the others.
  constexpr void find_turns_of_cells() {
    by_kind_.resize(4, list<std::int32_t>(from_.cells(), -1));
    joins_of_meetings_.resize(arrivals_wanted_.size(), {});
    for (const turn& each : turns_)
      for (std::int32_t i = each.begin; i < each.end; ++i) {
        const cue it = from_[i];
        if (it.what == op::join) joins_of_meetings_[meeting_of(it)].push(each.group);
        else by_kind_[kind_of(it.what)][sings(it.voice).cell(it.stage, it.microbatch)] = each.group;
      }
  }
  // 0 first forwards, 1 replays, 2 gradients that go back, 3 weight parts.
  static constexpr int kind_of(op what) { return what == op::backward_weight ? 3 : message_kind(what); }

  list<list<std::int32_t>> by_kind_;            // of each cell, see kind_of
  list<std::int32_t> first_meetings_;           // of each join
  list<list<std::int32_t>> joins_of_meetings_;  // groups
};

}  // namespace detail

}  // namespace motet
