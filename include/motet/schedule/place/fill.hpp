// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/place/score_turns.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

// An order with filled gaps, and what it takes by the costs that were given.
struct filled_score {
  score order;
  double seconds = 0;         // of the whole
  double alone_seconds = 0;   // of the others by themselves
  double filler_seconds = 0;  // of what fills, on the rank that has most of it
};

namespace detail {

class gap_filler : score_turns {
 public:
  using score_turns::score_turns;

  constexpr verdict run(filled_score& out) {
    if (const verdict found = find_fillers(); !found.ok()) return found;
    find_fillings();
    start_over();
    if (!play(true, 0, false)) return {reason::deadlock, 0, placed_, total_};
    out.alone_seconds = makespan_;
    find_latest(sequence_);
    const double alone = makespan_;
    double longest = 0;
    for (const double each : filler_seconds_of_ranks()) longest = each > longest ? each : longest;
    out.filler_seconds = longest;
    // Of what would fill, in per cent of a step of the others, nothing can be hidden.
    if (!finds_gaps())
      return {reason::no_gaps, sings(seats_[0].voice).module, 0,
              static_cast<isize>(100 * longest / alone + 0.5)};
    if (!find_shortest(alone, longest, out))
      return {reason::too_little_memory, 0, how_.room, enough_room(alone, longest)};
    write(out.order);
    return {};
  }

 private:
  static constexpr double never = -1;
  // A stage of a voice that fills, with those that compute it together.
  struct filler_seat {
    std::int32_t voice = 0, stage = 0;
    bool backward = false;
    list<std::int32_t> voices;
    std::int32_t next = 0;  // microbatch
    // Its ranks compute the stage in slices: which one of them this is, and the one behind it, or -1.
    std::int32_t slice = 0, behind = -1;
  };
  struct placed_cue {
    op what = op::forward;
    std::int32_t voice = 0, stage = 0, microbatch = 0;
    bool paired = false, aside = false;
  };
  struct candidate {
    double start = 0, end = 0;
    bool there = false;
  };

  // The others may be late by some of what the fillers take, so that those come first: by how much is tried.
  // So is how many slices of one rank stay together: with all of them no order is longer than without slices.
  // False: in every try some wait for ever. `any`: the first order is enough.
  constexpr bool find_shortest(double alone, double longest, filled_score& out, bool any = false) {
    constexpr int steps = 8;
    bool found = false;
    for (int k = 0; k <= steps && !(any && found); ++k)
      for (together_ = 1; together_ < 2 * slices_; together_ *= 2)
        for (const bool eager : {true, false}) {
          start_over();
          if (!play(false, alone + longest * k / steps, eager)) continue;
          if (found && makespan_ >= out.seconds) continue;
          found = true;
          out.seconds = makespan_;
          best_ = static_cast<list<list<placed_cue>>&&>(orders_);
        }
    return found;
  }
  // The least room with which there is an order, where there is none with less; all microbatches are enough.
  constexpr isize enough_room(double alone, double longest) {
    std::int32_t most = 0;
    for (const filler_seat& each : seats_)
      most = sings(each.voice).microbatches > most ? sings(each.voice).microbatches : most;
    filled_score one;
    for (++room_; room_ < most && !find_shortest(alone, longest, one, true);) ++room_;
    return room_;
  }

  constexpr verdict find_fillers() {
    bool any = false, other = false;
    for (std::int32_t v = 0; v < from_.voices().size(); ++v) {
      any = any || fills(v);
      other = other || !fills(v);
      if (fills(v) && sings(v).join >= 0) return {reason::nothing_to_fill, sings(v).module, 1, 0};
    }
    if (!any || !other) return {reason::nothing_to_fill, 0, any ? 1 : 0, other ? 1 : 0};
    return {};
  }
  constexpr void find_fillings() {
    for (std::int32_t v = 0; v < from_.voices().size(); ++v) {
      if (!fills(v)) continue;
      const voice& of = sings(v);
      for (const bool backward : {false, true}) {
        if (backward && !of.learns) continue;
        const bool all = backward ? of.sums_each : of.gathers_each;
        if (of.shard != 0 || (all && of.replica != 0)) continue;
        list<std::int32_t> together;
        for (std::int32_t w = 0; w < from_.voices().size(); ++w)
          if (sings(w).module == of.module && (all || sings(w).replica == of.replica)) together.push(w);
        const isize first = seats_.size();
        for (std::int32_t s = 0; s < of.stages; ++s) seats_.push({v, s, backward, together});
        find_slices(first, backward);
      }
    }
  }
  // Stages of one voice on the same ranks are slices: backward goes through them from the last one on.
  constexpr void find_slices(isize first, bool backward) {
    const isize last = seats_.size() - 1;
    for (isize n = 1; n <= last - first; ++n) {
      filler_seat &own = seats_[backward ? last - n : first + n],
                  &before = seats_[backward ? last - n + 1 : first + n - 1];
      bool same = true;
      for (const std::int32_t v : own.voices)
        same = same && rank_of(v, own.stage) == rank_of(v, before.stage);
      if (!same) continue;
      own.slice = before.slice + 1;
      before.behind = static_cast<std::int32_t>(backward ? last - n : first + n);
      slices_ = own.slice >= slices_ ? own.slice + 1 : slices_;
    }
  }
  // The slice that is computed right behind this one, or -1.
  constexpr std::int32_t stays_behind(const filler_seat& of) const {
    return of.behind >= 0 && seats_[of.behind].slice % together_ != 0 ? of.behind : -1;
  }

  constexpr list<double> filler_seconds_of_ranks() const {
    list<double> all(from_.ranks(), 0);
    for (const filler_seat& each : seats_)
      for (const std::int32_t v : each.voices)
        for (std::int32_t m = 0; m < sings(v).microbatches; ++m)
          all[rank_of(v, each.stage)] +=
              seconds(each.backward ? op::backward : op::forward, v, each.stage, m);
    return all;
  }

  // Whether some rank of a filler waits while the others play alone.
  constexpr bool finds_gaps() const {
    list<double> idle(from_.ranks(), makespan_);
    for (const turn& each : turns_)
      if (!from_[each.begin].aside) idle[each.rank] -= groups_[each.group].seconds;
    for (const filler_seat& each : seats_)
      for (const std::int32_t v : each.voices)
        if (idle[rank_of(v, each.stage)] > slack * makespan_) return true;
    return false;
  }

  constexpr void start_over() {
    for (list<double>* each : {&ran_, &kept_, &gave_}) {
      each->clear();
      each->resize(from_.cells(), never);
    }
    met_.clear();
    met_.resize(arrivals_wanted_.size(), 0);
    arrived_.clear();
    arrived_.resize(arrivals_wanted_.size(), 0);
    free_.clear();
    free_.resize(from_.ranks(), 0);
    live_.clear();
    live_.resize(from_.places().size(), 0);
    orders_.clear();
    orders_.resize(from_.ranks(), {});
    sequence_.clear();
    at_.clear();
    for (std::int32_t r = 0; r < from_.ranks(); ++r) at_.push(turns_of_rank_[r]);
    for (turn_group& each : groups_) each.waiting = static_cast<std::int32_t>(each.turns.size());
    for (filler_seat& each : seats_) each.next = 0;
    available_.clear();
    for (std::int32_t r = 0; r < from_.ranks(); ++r) comes_next(r);
    makespan_ = 0;
    placed_ = 0;
  }
  // The next turn of a rank may be played, with those that start together.
  constexpr void comes_next(std::int32_t r) {
    if (at_[r] == turns_of_rank_[r + 1]) return;
    const std::int32_t g = turns_[at_[r]].group;
    if (--groups_[g].waiting == 0) available_.push(g);
  }

  // The rows or gradients that a cell needs are there then; never: some have not been made.
  constexpr double ready(op what, std::int32_t v, std::int32_t s, std::int32_t m, bool alone) const {
    const isize own = sings(v).cell(s, m);
    if (what == op::backward_weight) return gave_[own];
    double when = 0;
    const auto needs = [&](double made, double wait) {
      if (made < 0) when = never;
      else if (when >= 0 && made + wait > when) when = made + wait;
    };
    const int kind = message_kind(what);
    if (what == op::re_forward) needs(ran_[own], 0);
    if (kind == 2) needs(kept_[own], 0);
    bool comes = false;
    links_.each_source(kind, v, s, m, [&](const cell_seat& at, int, int) {
      if (alone && fills(at.voice)) return;
      comes = true;
      const isize cell = links_.cell(at);
      needs((kind == 0 ? ran_ : kind == 1 ? kept_ : gave_)[cell], transfer(at, v, s, kind == 2));
    });
    if (kind == 2 && !comes && sings(v).join >= 0 && s + 1 == sings(v).stages) {
      const std::int32_t meets = meeting(v, m);
      needs(arrived_[meets] == arrivals_wanted_[meets] ? met_[meets] : never, 0);
    }
    return when;
  }
  constexpr double ready(const turn& of, bool alone) const {
    double when = free_[of.rank];
    const auto needs = [&](double each) {
      if (each < 0) when = never;
      else if (when >= 0 && each > when) when = each;
    };
    for (std::int32_t i = of.begin; i < of.end; ++i) {
      const cue it = from_[i];
      if (it.what != op::join) {
        needs(ready(it.what, it.voice, it.stage, it.microbatch, alone));
        continue;
      }
      for (const std::int32_t v : members_[it.voice]) {
        if (rank_of(v, sings(v).stages - 1) != of.rank) continue;
        for (std::int32_t m = it.microbatch * sings(v).group; m < (it.microbatch + 1) * sings(v).group; ++m)
          needs(ran_[sings(v).cell(sings(v).stages - 1, m)]);
      }
    }
    return when;
  }
  constexpr candidate look_at(const turn_group& of, bool alone) const {
    candidate found;
    for (const std::int32_t t : of.turns) {
      const double when = ready(turns_[t], alone);
      if (when < 0) return {};
      if (when > found.start) found.start = when;
    }
    found.end = found.start + of.seconds;
    found.there = true;
    return found;
  }
  constexpr candidate look_at(const filler_seat& of) const {
    candidate found;
    if (of.slice % together_ != 0) return found;
    const op what = of.backward ? op::backward : op::forward;
    for (const std::int32_t v : of.voices) {
      if (of.next >= sings(v).microbatches) return {};
      if (!of.backward && room_ > 0 && sings(v).learns && live_[place(v, of.stage)] >= room_) return {};
      double when = ready(what, v, of.stage, of.next, false);
      if (when < 0) return {};
      const double rank_free = free_[rank_of(v, of.stage)];
      when = rank_free > when ? rank_free : when;
      if (when > found.start) found.start = when;
    }
    found.end = found.start + takes(of);
    for (std::int32_t k = stays_behind(of); k >= 0; k = stays_behind(seats_[k]))
      found.end += takes(seats_[k]);
    found.there = true;
    return found;
  }
  // The slowest of those that compute its next microbatch together takes this.
  constexpr double takes(const filler_seat& of) const {
    double most = 0;
    for (const std::int32_t v : of.voices) {
      const double own = seconds(of.backward ? op::backward : op::forward, v, of.stage, of.next);
      most = own > most ? own : most;
    }
    return most;
  }
  // No rank of a filler may be late with what comes next for it; those that wait for a filler anyway are
  // not.
  constexpr bool fits(const filler_seat& of, double end, double target) const {
    for (const std::int32_t v : of.voices) {
      const std::int32_t r = rank_of(v, of.stage);
      if (at_[r] == turns_of_rank_[r + 1]) continue;
      const turn& next = turns_[at_[r]];
      if (end > target + groups_[next.group].latest + slack && !waits_for_filler(next)) return false;
    }
    return true;
  }
  constexpr bool waits_for_filler(const turn& of) const {
    bool found = false;
    for (std::int32_t i = of.begin; i < of.end; ++i) {
      const cue it = from_[i];
      const int kind = message_kind(it.what);
      if (kind < 0) continue;
      links_.each_source(kind, it.voice, it.stage, it.microbatch, [&](const cell_seat& at, int, int) {
        found = found || (fills(at.voice) && (kind == 2 ? gave_ : ran_)[links_.cell(at)] < 0);
      });
    }
    return found;
  }

  // Plays all in time: whoever can start first does. `target`: until when the whole should be done, which
  // says how late the others may be; eager: fillers come first wherever that makes nobody late. False: some
  // wait for ever.
  constexpr bool play(bool alone, double target, bool eager) {
    total_ = static_cast<isize>(groups_.size());
    if (!alone)
      for (const filler_seat& each : seats_) total_ += sings(each.voice).microbatches;
    while (placed_ < total_) {
      candidate best, late;
      isize group = -1, seat = -1, late_seat = -1;
      for (isize k = 0; k < available_.size(); ++k) {
        const candidate each = look_at(groups_[available_[k]], alone);
        if (!each.there || (best.there && each.start >= best.start)) continue;
        best = each;
        group = k;
      }
      if (!alone)
        for (isize k = 0; k < seats_.size(); ++k) {
          const candidate each = look_at(seats_[k]);
          if (!each.there) continue;
          const bool ahead =
              !best.there || each.start < best.start || (eager && seat < 0 && each.start == best.start);
          if (ahead && fits(seats_[k], each.end, target)) {
            best = each;
            seat = k;
          } else if (!late.there || each.start < late.start) {
            late = each;
            late_seat = k;
          }
        }
      if (!best.there) {
        if (!late.there) return false;
        best = late;
        seat = late_seat;
      }
      if (seat >= 0) put(seats_[seat], best);
      else put(group, best);
      if (best.end > makespan_) makespan_ = best.end;
    }
    return true;
  }
  constexpr void put(filler_seat& of, const candidate& when) {
    const double end = when.start + takes(of);
    for (const std::int32_t v : of.voices) {
      const isize cell = sings(v).cell(of.stage, of.next);
      const std::int32_t r = rank_of(v, of.stage);
      if (of.backward) gave_[cell] = end;
      else ran_[cell] = kept_[cell] = end;
      live_[place(v, of.stage)] += of.backward ? -1 : 1;
      free_[r] = end;
      orders_[r].push({of.backward ? op::backward : op::forward, v, of.stage, of.next});
    }
    ++of.next;
    ++placed_;
    if (const std::int32_t k = stays_behind(of); k >= 0) put(seats_[k], {end, when.end, true});
  }
  constexpr void put(isize k, const candidate& when) {
    const std::int32_t g = available_[k];
    ++placed_;
    available_[k] = available_.back();
    available_.pop();
    sequence_.push(g);
    for (const std::int32_t t : groups_[g].turns) {
      const turn& own = turns_[t];
      for (std::int32_t i = own.begin; i < own.end; ++i) {
        const cue it = from_[i];
        orders_[own.rank].push({it.what, it.voice, it.stage, it.microbatch, it.paired, it.aside});
        if (it.what == op::join) {
          const std::int32_t meets = meeting_of(it);
          ++arrived_[meets];
          met_[meets] = when.end > met_[meets] ? when.end : met_[meets];
          continue;
        }
        const isize cell = sings(it.voice).cell(it.stage, it.microbatch);
        if (is_forward(it.what) && it.what != op::re_forward) ran_[cell] = when.end;
        if (keeps(it.what)) kept_[cell] = when.end;
        if (it.what == op::backward || it.what == op::backward_input) gave_[cell] = when.end;
      }
      // A join beside the computation does not hold it up.
      if (!from_[own.begin].aside) free_[own.rank] = when.end;
      ++at_[own.rank];
      comes_next(own.rank);
    }
  }

  constexpr void write(score& out) const {
    out = {};
    for (const voice& each : from_.voices()) out.add(each, [&](int s) { return from_.place(each, s); });
    out.feed_as(from_.feeds());
    for (const list<placed_cue>& rank : best_) {
      out.rank();
      for (const placed_cue& each : rank) {
        if (each.what == op::join) out.join(each.voice, each.microbatch, each.aside);
        else out.play(each.what, each.voice, each.stage, each.microbatch);
        if (each.paired) out.pair_with_next();
      }
    }
  }

  static constexpr double slack = 1e-9;

  std::int32_t room_ = how_.room;
  list<filler_seat> seats_;
  std::int32_t slices_ = 1, together_ = 1;  // at most of a rank's stage; so many at a time
  list<std::int32_t> arrived_;              // of each meeting
  // While it plays: when a cell's rows left, when it kept what backward needs, when its gradients left.
  list<double> ran_, kept_, gave_, met_, free_;
  list<std::int32_t> live_, at_, available_, sequence_;
  list<list<placed_cue>> orders_, best_;
  double makespan_ = 0;
  isize placed_ = 0, total_ = 0;
};

}  // namespace detail

// Another order of the same score: the modules that fill go where their ranks would wait for others. Each
// rank plays the others in the order that they have; forwards of those that fill come early enough for whom
// they feed, backwards behind those that feed them gradients, and both where they make nobody late, if there
// is such a place. What the score says of the fillers' own order is not looked at, they may be without any.
// Times decide the order and nothing else: whoever is late at run time delays those alone that wait for it.
// Asks for: modules that fill and lead to one that leaves gaps; times of all stages.
// Memory: some numbers for each computation, and the new score.
// Errors: MT-P10, MT-P28, MT-S21, MT-S23
// Example:
//   double saved(const score& from, const filling& how) {
//     filled_score out;
//     return fill_gaps(from, how, out).ok() ? out.alone_seconds + out.filler_seconds - out.seconds : 0;
//   }
constexpr verdict fill_gaps(const score& from, const filling& how, filled_score& out) {
  return detail::gap_filler(from, how).run(out);
}

}  // namespace motet
