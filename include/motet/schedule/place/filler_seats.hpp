// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/place/score_turns.hpp>
#include <motet/strategy/rules.hpp>

namespace motet::detail {

// What fills of a score: the operations of each stage, which have no places yet, and the losses that they end
// in.
class filler_seats : public score_turns {
 public:
  constexpr filler_seats(const score& from, const filling& how) : score_turns(from, how) { find_seats(); }

  // Some of the modules fill, others do not, and no loss has both.
  constexpr verdict check() const {
    bool any = false, other = false;
    for (std::int32_t v = 0; v < from_.voices().size(); ++v) {
      any = any || fills(v);
      other = other || !fills(v);
      if (sings(v).join >= 0 && join_fills(sings(v).join) != fills(v))
        return {reason::nothing_to_fill, sings(v).module, 1, 1};
    }
    if (!any || !other) return {reason::nothing_to_fill, 0, any ? 1 : 0, other ? 1 : 0};
    return {};
  }

 protected:
  // An operation of a stage of a voice that fills, with all who do it together; or the loss of a join, with
  // all its members.
  struct filler_seat {
    std::int32_t voice = 0, stage = 0;
    op what = op::forward;
    list<std::int32_t> voices;
    std::int32_t next = 0;  // microbatch, or group of a loss
    // Its ranks compute the stage in slices: which one of them this is, and the one behind it, or -1.
    std::int32_t slice = 0, behind = -1;
  };

  // A filler is played so often.
  constexpr std::int32_t times(const filler_seat& of) const {
    return of.what == op::join ? sings(of.voice).joins() : sings(of.voice).microbatches;
  }
  // Losses stand behind the last stage of each member, all else is at one stage.
  constexpr std::int32_t rank_in(const filler_seat& of, std::int32_t v) const {
    return rank_of(v, of.what == op::join ? sings(v).stages - 1 : of.stage);
  }
  // The slowest of those that do it together takes this for what comes next.
  constexpr double takes(const filler_seat& of) const {
    if (of.what == op::join) return cost(of.what, sings(of.voice).join, 0, of.next);
    double most = 0;
    for (const std::int32_t v : of.voices) {
      const double own = seconds(of.what, v, of.stage, of.next);
      most = own > most ? own : most;
    }
    return most;
  }
  // The seconds that each rank computes of all that fills.
  constexpr list<double> filler_seconds_of_ranks() const {
    list<double> all(from_.ranks(), 0);
    for (const filler_seat& each : seats_)
      for (const std::int32_t v : each.voices)
        for (std::int32_t m = 0; m < times(each) && each.what != op::join; ++m)
          all[rank_in(each, v)] += seconds(each.what, v, each.stage, m);
    return all;
  }

  list<filler_seat> seats_;
  std::int32_t slices_ = 1;  // at most of a rank's stage

 private:
  constexpr void find_seats() {
    for (std::int32_t v = 0; v < from_.voices().size(); ++v) {
      if (!fills(v)) continue;
      const voice& of = sings(v);
      for (const op what : {op::forward, op::backward}) {
        const bool back = what == op::backward, all = of.meets_each || (back && of.sums_each);
        if ((back && !of.learns) || of.shard != 0 || (all && of.replica != 0)) continue;
        list<std::int32_t> together;
        for (std::int32_t w = 0; w < from_.voices().size(); ++w)
          if (sings(w).module == of.module && (all || sings(w).replica == of.replica)) together.push(w);
        const isize first = seats_.size();
        for (std::int32_t s = 0; s < of.stages; ++s) seats_.push({v, s, what, together});
        find_slices(first, back);
      }
    }
    for (std::int32_t j = 0; j < from_.joins(); ++j) {
      if (!join_fills(j)) continue;
      const std::int32_t v = members_[j][0];
      seats_.push({v, sings(v).stages - 1, op::join, members_[j]});
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
};

}  // namespace motet::detail
