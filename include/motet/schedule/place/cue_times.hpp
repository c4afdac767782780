// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

// A time for each cue at which it could be played, were every rank of the score a device of its own; what
// needs another cue has a later one. So every rank that plays some cues of any ranks in the order of these
// times can do so, whoever holds them. They are those of a simulation in which messages take no time. Of a
// score that computes in one lane, cue after cue, they follow from its cells alone, without a program of it.
// Asks for: a score; ok() says whether all of it could be played.
// Memory: a number for each cue, and two for each cell until all is played.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   double start_of_last_backward() {
//     const score order = one_f_one_b::write({.stages = 2, .microbatches = 4});
//     return cue_times(order)[order.end_of(0) - 1];
//   }
class cue_times {
 public:
  constexpr cue_times() = default;
  constexpr explicit cue_times(const score& from) { ok_ = is_plain(from) ? play(from) : simulated(from); }
  constexpr bool ok() const { return ok_; }
  constexpr double operator[](isize cue) const { return starts_[cue]; }

 private:
  static constexpr double computes = 2, joins = 1;  // a stage's forward, each part of its backward; a loss

  // Nothing computes beside it, overlaps, runs again or waits within a computation.
  static constexpr bool is_plain(const score& from) {
    for (const voice& each : from.voices())
      if (each.lane > 0 || each.shards > 1 || each.sums_each || each.meets_each) return false;
    for (const std::int64_t code : from.codes())
      if (const cue each(code); each.paired || each.aside || each.what == op::re_forward) return false;
    return true;
  }
  constexpr bool simulated(const score& from) {
    const program of = compile(from, {messages::in_channels, false});
    timeline times;
    if (!simulate(of, even_costs(of, {computes, computes, computes}, joins), times).ok()) return false;
    for (isize i = 0; i < of.instructions.size(); ++i)
      if (is_compute(of.instructions[i].what)) starts_.push(times.start[i]);
    return true;
  }

  // Every rank in its order, each cue as soon as what it needs is there.
  class cell_clock {
   public:
    constexpr cell_clock(const score& from, list<double>& starts)
        : from_(from),
          links_(from.voices(), from.feeds()),
          starts_(starts),
          forward_(from.cells(), none),
          back_(from.cells(), none),
          now_(from.ranks(), 0),
          wants_(from.ranks(), nothing) {
      starts_.resize(from.codes().size(), 0);
      joins_.resize(from.joins(), {});
      for (std::int32_t r = from.ranks(); r-- > 0;) runnable_.push(r);
      for (std::int32_t r = 0; r < from.ranks(); ++r) at_.push(from.begin_of(r));
      for (const voice& each : from.voices())
        if (each.join >= 0) add_member(joins_[each.join].members, from.place(each, each.stages - 1));
    }
    constexpr bool run() {
      while (!runnable_.empty()) {
        const std::int32_t r = runnable_.back();
        runnable_.pop();
        while (at_[r] < from_.end_of(r) && step(r)) ++at_[r];
        if (wrong_) return false;
      }
      for (std::int32_t r = 0; r < from_.ranks(); ++r)
        if (at_[r] < from_.end_of(r)) return false;
      return true;
    }

   private:
    static constexpr double none = -1;
    static constexpr isize nothing = -1, a_join = -2;
    struct meeting {
      list<std::int32_t> members{};  // ranks
      isize arrived = 0;
      double latest = 0;
    };

    static constexpr void add_member(list<std::int32_t>& all, std::int32_t rank) {
      for (const std::int32_t each : all)
        if (each == rank) return;
      all.push(rank);
    }
    constexpr std::int32_t rank_of(const cell_seat& at) const {
      return from_.place(from_.voices()[at.voice], at.stage);
    }
    constexpr bool refuse() {
      wrong_ = true;
      return false;
    }
    // The result is false when the rank has to wait.
    constexpr bool step(std::int32_t r) {
      const cue each = from_[at_[r]];
      if (each.what == op::join) return each.voice < joins_.size() ? meet(r, joins_[each.voice]) : refuse();
      if (each.voice >= from_.voices().size()) return refuse();
      const voice& sings = from_.voices()[each.voice];
      if (each.stage >= sings.stages || each.microbatch >= sings.microbatches ||
          from_.place(sings, each.stage) != r)
        return refuse();
      const isize cell = sings.cell(each.stage, each.microbatch);
      const bool ahead = is_forward(each.what), both = each.what == op::backward;
      isize missing = nothing;
      double start = now_[r];
      const auto needs = [&](double ended, isize wanted) {
        if (ended == none) missing = wanted;
        if (ended > start) start = ended;
      };
      if (ahead) {
        links_.each_previous(each.voice, each.stage, each.microbatch, [&](const cell_seat& at, int, int) {
          needs(forward_[links_.cell(at)], 2 * links_.cell(at));
        });
      } else if (forward_[cell] == none) {
        return refuse();
      } else if (each.what != op::backward_weight) {
        links_.each_source(2, each.voice, each.stage, each.microbatch, [&](const cell_seat& at, int, int) {
          needs(back_[links_.cell(at)], 2 * links_.cell(at) + 1);
        });
      }
      wants_[r] = missing;
      if (missing != nothing) return false;
      starts_[at_[r]] = start;
      const double part = computes / sings.chunks;
      now_[r] = start + (both ? part + part : part);
      if (each.what == op::backward_weight) return true;
      (ahead ? forward_ : back_)[cell] = now_[r];
      const isize made = 2 * cell + (ahead ? 0 : 1);
      const auto wake = [&](const cell_seat& at, int, int) {
        const std::int32_t to = rank_of(at);
        if (wants_[to] != made) return;
        wants_[to] = nothing;
        runnable_.push(to);
      };
      if (ahead) links_.each_next(each.voice, each.stage, each.microbatch, wake);
      else links_.each_target(2, each.voice, each.stage, each.microbatch, wake);
      return true;
    }
    // Whoever comes last starts the others.
    constexpr bool meet(std::int32_t r, meeting& of) {
      if (now_[r] > of.latest) of.latest = now_[r];
      if (++of.arrived < of.members.size()) {
        wants_[r] = a_join;
        return false;
      }
      for (const std::int32_t each : of.members) {
        starts_[at_[each]] = of.latest;
        now_[each] = of.latest + joins;
        if (each == r) continue;
        if (wants_[each] != a_join) return refuse();
        wants_[each] = nothing;
        ++at_[each];
        runnable_.push(each);
      }
      of.arrived = 0;
      of.latest = 0;
      return true;
    }

    const score& from_;
    cell_links links_;
    list<double>& starts_;
    list<double> forward_, back_;  // of each cell, when it ended
    list<double> now_;             // of each rank
    list<isize> wants_;            // of each rank, what its next cue waits for
    list<std::int32_t> at_, runnable_;
    list<meeting> joins_;
    bool wrong_ = false;
  };
  constexpr bool play(const score& from) { return cell_clock(from, starts_).run(); }

  list<double> starts_;  // of each cue
  bool ok_ = false;
};

}  // namespace motet
