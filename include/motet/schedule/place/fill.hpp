// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/place/filler_seats.hpp>
#include <motet/schedule/place/forwards_ahead.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

// An order with filled gaps, and what it takes by the costs that were given.
struct filled_score {
  score order;
  double seconds = 0;         // of the whole
  double alone_seconds = 0;   // of the others by themselves
  double filler_seconds = 0;  // of what fills, on the rank that has most of it
  double short_gap = 0;       // a fifth of the gaps that the others leave by themselves are shorter
};

namespace detail {

class gap_filler : public filler_seats {
 public:
  static constexpr double slack = 1e-9;

  // Stages keep so many microbatches at once; 0: any number.
  constexpr gap_filler(const score& from, const filling& how, std::int32_t room)
      : filler_seats(from, how), room_(room) {}

  // What the others take by themselves, and whether some rank of a filler waits while they play.
  constexpr verdict play_alone(filled_score& out) {
    start_over();
    if (!play(true, 0, false)) return {reason::deadlock, 0, placed_, total_};
    out.alone_seconds = makespan_;
    out.short_gap = find_short_gap();
    find_latest(sequence_);
    out.filler_seconds = 0;
    for (const double each : filler_seconds_of_ranks())
      out.filler_seconds = each > out.filler_seconds ? each : out.filler_seconds;
    // Of what would fill, in per cent of a step of the others, nothing can be hidden.
    if (!finds_gaps())
      return {reason::no_gaps, sings(seats_[0].voice).module, 0,
              static_cast<isize>(100 * out.filler_seconds / makespan_ + 0.5)};
    return {};
  }
  // The others may be late by some of what the fillers take, so that those come first: by how much is tried.
  // So is how many slices of one rank stay together: with all of them no order is longer than without slices.
  // Behind play_alone(). `most`: by how much they may be late. False: in every try some wait for ever. `any`:
  // the first order is enough.
  constexpr bool find_shortest(filled_score& out, double most, bool any) {
    constexpr int steps = 8;
    bool found = false;
    for (int k = 0; k <= steps && !(any && found); ++k)
      for (together_ = 1; together_ < 2 * slices_; together_ *= 2)
        for (const bool eager : {true, false}) {
          start_over();
          if (!play(false, out.alone_seconds + most * k / steps, eager)) continue;
          if (found && makespan_ >= out.seconds) continue;
          found = true;
          out.seconds = makespan_;
          best_ = static_cast<list<list<placed_cue>>&&>(orders_);
        }
    if (found) write(out.order);
    return found;
  }

 private:
  static constexpr double never = -1;
  struct placed_cue {
    op what = op::forward;
    std::int32_t voice = 0, stage = 0, microbatch = 0;
    bool paired = false, aside = false;
  };
  struct candidate {
    double start = 0, end = 0;
    bool there = false;
  };

  // The slice that is computed right behind this one, or -1.
  constexpr std::int32_t stays_behind(const filler_seat& of) const {
    return of.behind >= 0 && seats_[of.behind].slice % together_ != 0 ? of.behind : -1;
  }

  // The gap behind the shortest fifth of all, those at the end of the step among them.
  constexpr double find_short_gap() {
    for (const double each : free_)
      if (makespan_ > each + slack) gaps_.push(makespan_ - each);
    sort_stably(gaps_, [](double a, double b) { return a < b; });
    return gaps_.empty() ? 0 : gaps_[gaps_.size() / 5];
  }
  // Says whether some rank of a filler waits while the others play alone.
  constexpr bool finds_gaps() const {
    list<double> idle(from_.ranks(), makespan_);
    for (const turn& each : turns_)
      if (!from_[each.begin].aside) idle[each.rank] -= groups_[each.group].seconds;
    for (const filler_seat& each : seats_)
      for (const std::int32_t v : each.voices)
        if (idle[rank_in(each, v)] > slack * makespan_) return true;
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
    gaps_.clear();
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
      for (const std::int32_t v : members_[it.voice])
        if (rank_of(v, sings(v).stages - 1) == of.rank) needs(ran_all(v, it.microbatch));
    }
    return when;
  }
  // A voice has made all rows of one of its losses then.
  constexpr double ran_all(std::int32_t v, std::int32_t group) const {
    double when = 0;
    for (std::int32_t m = group * sings(v).group; m < (group + 1) * sings(v).group; ++m) {
      const double each = ran_[sings(v).cell(sings(v).stages - 1, m)];
      if (each < 0) return never;
      when = each > when ? each : when;
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
    if (of.next >= times(of)) return {};
    for (const std::int32_t v : of.voices) {
      if (of.what == op::forward && room_ > 0 && sings(v).learns && live_[place(v, of.stage)] >= room_)
        return {};
      double when = of.what == op::join ? ran_all(v, of.next) : ready(of.what, v, of.stage, of.next, false);
      if (when < 0) return {};
      const double rank_free = free_[rank_in(of, v)];
      when = rank_free > when ? rank_free : when;
      if (when > found.start) found.start = when;
    }
    found.end = found.start + takes(of);
    for (std::int32_t k = stays_behind(of); k >= 0; k = stays_behind(seats_[k]))
      found.end += takes(seats_[k]);
    found.there = true;
    return found;
  }
  // No rank of a filler may be late with what comes next for it; those that wait for a filler anyway are
  // not.
  constexpr bool fits(const filler_seat& of, double end, double target) const {
    for (const std::int32_t v : of.voices) {
      const std::int32_t r = rank_in(of, v);
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
      for (const filler_seat& each : seats_) total_ += times(each);
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
      const std::int32_t r = rank_in(of, v);
      if (of.what == op::join) {
        const std::int32_t meets = meeting(v, of.next * sings(v).group);
        // A rank with several members meets once.
        if (!ends_in_join(orders_[r], sings(v).join, of.next))
          orders_[r].push({op::join, sings(v).join, 0, of.next});
        arrived_[meets] = 1;
        met_[meets] = end;
      } else {
        const isize cell = sings(v).cell(of.stage, of.next);
        if (of.what == op::backward) gave_[cell] = end;
        else ran_[cell] = kept_[cell] = end;
        live_[place(v, of.stage)] += of.what == op::backward ? -1 : 1;
        orders_[r].push({of.what, v, of.stage, of.next});
      }
      free_[r] = end;
    }
    ++of.next;
    ++placed_;
    if (const std::int32_t k = stays_behind(of); k >= 0) put(seats_[k], {end, when.end, true});
  }
  static constexpr bool ends_in_join(const list<placed_cue>& order, std::int32_t join, std::int32_t group) {
    return !order.empty() && order.back().what == op::join && order.back().voice == join &&
           order.back().microbatch == group;
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
      if (!from_[own.begin].aside) {
        if (when.start > free_[own.rank] + slack) gaps_.push(when.start - free_[own.rank]);
        free_[own.rank] = when.end;
      }
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

  std::int32_t room_ = 0;
  std::int32_t together_ = 1;   // so many slices at a time
  list<std::int32_t> arrived_;  // of each meeting
  // While it plays: when a cell's rows left, when it kept what backward needs, when its gradients left.
  list<double> ran_, kept_, gave_, met_, free_, gaps_;
  list<std::int32_t> live_, at_, available_, sequence_;
  list<list<placed_cue>> orders_, best_;
  double makespan_ = 0;
  isize placed_ = 0, total_ = 0;
};

// The shortest of the orders in which the others' forwards go ahead by nothing, by a part, by twice as many
// and so on; only those that wait for what stands behind them gain by it. False: in every one some wait for
// ever.
constexpr bool fill_with_room(const score& from, const filling& how, std::int32_t room, bool any,
                              filled_score& out) {
  const bool behind = stands_behind(from, how);
  const std::int32_t most = behind ? most_ahead(from, how) : 0;
  bool found = false;
  for (std::int32_t ahead = 0; ahead < 2 * most || ahead == 0; ahead = ahead == 0 ? 1 : 2 * ahead) {
    score order;
    if (ahead > 0) order = forwards_ahead(from, how, ahead < most ? ahead : most);
    gap_filler filler(ahead > 0 ? order : from, how, room);
    filled_score one;
    // What stands behind the others makes all of their gradients late, and not the last ones alone.
    if (!filler.play_alone(one).ok() ||
        !filler.find_shortest(one, (behind ? 3 : 1) * one.filler_seconds, any))
      continue;
    if (found && one.seconds >= out.seconds - gap_filler::slack) continue;
    found = true;
    out.seconds = one.seconds;
    out.order = static_cast<score&&>(one.order);
    if (any) break;
  }
  return found;
}
// The least room with which there is an order, where there is none with less; all microbatches are enough.
constexpr isize enough_room(const score& from, const filling& how) {
  std::int32_t most = 0, room = how.room + 1;
  for (const voice& each : from.voices()) most = each.microbatches > most ? each.microbatches : most;
  filled_score one;
  while (room < most && !fill_with_room(from, how, room, true, one)) ++room;
  return room;
}

}  // namespace detail

// Another order of the same score: the modules that fill go where their ranks would wait for others. Each
// rank plays forwards of the others in the order that they have, and backwards too; forwards of those that
// fill come early enough for whom they feed, backwards behind those that feed them gradients, and both where
// they make nobody late, if there is such a place. Where some stand behind the others, gradients come back
// later, and how many forwards go ahead of these is tried; else the others keep one order. What the score
// says of the fillers' own order is not looked at, they may be without any. Times decide the order and
// nothing else: whoever is late at run time delays those alone that wait for it.
// Asks for: modules that fill, others that leave gaps, no loss that both end in; times of all stages.
// Memory: some numbers for each computation, and the new score.
// Errors: MT-P10, MT-P28, MT-S21, MT-S23
// Example:
//   double saved(const score& from, const filling& how) {
//     filled_score out;
//     return fill_gaps(from, how, out).ok() ? out.alone_seconds + out.filler_seconds - out.seconds : 0;
//   }
constexpr verdict fill_gaps(const score& from, const filling& how, filled_score& out) {
  detail::gap_filler filler(from, how, how.room);
  if (const verdict found = filler.check(); !found.ok()) return found;
  if (const verdict found = filler.play_alone(out); !found.ok()) return found;
  if (detail::fill_with_room(from, how, how.room, false, out)) return {};
  return {reason::too_little_memory, 0, how.room, detail::enough_room(from, how)};
}

}  // namespace motet
