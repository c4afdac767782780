// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/place/cue_times.hpp>

namespace motet {

// A spread says how often each voice of a score sings: replicas have samples of their own, and some ranks
// compute every stage of each together.
struct voice_spread {
  std::int32_t replicas = 1;
  std::int32_t shards = 1;
  bool sums_each = false;   // gradients are summed over all of them in every backward
  bool meets_each = false;  // all of them do every computation together
};

namespace detail {

class placer {
 public:
  template <class Where>
  constexpr placer(const score& from, const list<voice_spread>& spreads, std::int32_t ranks, Where where,
                   bool together)
      : from_(from), held_(ranks, list<holding>{}), together_(together) {
    isize cells = 0;
    for (isize v = 0; v < from.voices().size(); ++v) {
      const voice& old = from.voices()[v];
      cells += isize{old.stages} * old.microbatches * spreads[v].replicas * spreads[v].shards;
    }
    out_.reserve(cells);
    for (isize v = 0; v < from.voices().size(); ++v) {
      const voice& old = from.voices()[v];
      const voice_spread& by = spreads[v];
      together_ =
          together_ || by.shards > 1 || ((by.sums_each || by.meets_each) && by.replicas + old.replica > 1);
      first_of_.push(static_cast<std::int32_t>(out_.voices().size()));
      for (std::int32_t r = 0; r < by.replicas; ++r) {
        for (std::int32_t k = 0; k < by.shards; ++k) {
          voice made = old;
          made.replica = old.replica + r;
          made.shard = k;
          made.shards = by.shards;
          made.sums_each = by.sums_each && old.updates();
          made.meets_each = by.meets_each;
          const auto number = static_cast<std::int32_t>(out_.voices().size());
          out_.add(made, [&](std::int32_t s) {
            const std::int32_t rank = where(static_cast<std::int32_t>(v), r, k, s);
            held_[rank].push({number, static_cast<std::int32_t>(v), s});
            return rank;
          });
        }
      }
    }
  }
  constexpr score place() {
    // Feeds are alike in all replicas and shards, where there are as many of both.
    for (const fed_cell& each : from_.feeds())
      for (std::int32_t copy = 0; copy < copies(each.from) && copy < copies(each.to); ++copy)
        out_.feed({first_of_[each.from] + copy, each.from_microbatch, first_of_[each.to] + copy,
                   each.to_microbatch});
    sort_cues();
    for (isize r = 0; r < held_.size(); ++r) {
      out_.rank();
      const std::int32_t seat = together_ ? -1 : whole_seat(held_[r]);
      if (seat >= 0) copy(seat, held_[r]);
      else merge(held_[r]);
    }
    return static_cast<score&&>(out_);
  }

 private:
  // A voice of the result whose stage a rank holds, and what it copies.
  struct holding {
    std::int32_t voice = 0, from = 0, stage = 0;
  };
  struct timed {
    double when = 0;
    std::int32_t cue = 0, voice = 0;
  };

  constexpr std::int32_t copies(std::int32_t v) const {
    return (v + 1 < first_of_.size() ? first_of_[v + 1] : static_cast<std::int32_t>(out_.voices().size())) -
           first_of_[v];
  }
  constexpr std::int32_t place_of(const holding& each) const {
    return from_.voices()[each.from].first_place + each.stage;
  }
  // The cues of every place of the score, and its joins, as lists.
  constexpr void sort_cues() {
    of_place_.resize(from_.places().size(), {});
    of_join_.resize(from_.joins(), {});
    seats_.resize(from_.ranks(), 0);
    for (const std::int32_t rank : from_.places()) ++seats_[rank];
    for (std::int32_t i = 0; i < from_.codes().size(); ++i) {
      const cue each = from_[i];
      if (each.what == op::join) {
        if (each.microbatch == of_join_[each.voice].size()) of_join_[each.voice].push(i);
      } else {
        of_place_[from_.voices()[each.voice].first_place + each.stage].push(i);
      }
    }
  }
  // The rank of the score all of whose places, and no others, these are, each once; -1: none.
  constexpr std::int32_t whole_seat(const list<holding>& all) const {
    if (all.empty()) return -1;
    const std::int32_t seat = from_.places()[place_of(all[0])];
    if (all.size() != seats_[seat]) return -1;
    for (isize i = 0; i < all.size(); ++i) {
      if (from_.places()[place_of(all[i])] != seat) return -1;
      for (isize j = 0; j < i; ++j)
        if (place_of(all[j]) == place_of(all[i])) return -1;
    }
    return seat;
  }
  constexpr void copy(std::int32_t seat, const list<holding>& all) {
    for (std::int32_t i = from_.begin_of(seat); i < from_.end_of(seat); ++i) {
      const cue each = from_[i];
      if (each.what == op::join) {
        out_.join(each.voice, each.microbatch, each.aside);
        continue;
      }
      for (const holding& own : all) {
        if (own.from != each.voice || own.stage != each.stage) continue;
        out_.play(each.what, own.voice, each.stage, each.microbatch);
        if (each.paired) out_.pair_with_next();
      }
    }
  }
  constexpr void merge(const list<holding>& all) {
    if (!times_known_) times_ = cue_times(from_);
    times_known_ = true;
    list<timed> order;
    list<std::uint8_t> joins(from_.joins(), 0);
    for (const holding& own : all) {
      const voice& of = from_.voices()[own.from];
      for (const std::int32_t i : of_place_[place_of(own)])
        order.push({times_.ok() ? times_[i] : i, i, own.voice});
      if (of.join < 0 || own.stage + 1 < of.stages || joins[of.join] != 0) continue;
      joins[of.join] = 1;
      for (const std::int32_t i : of_join_[of.join]) order.push({times_.ok() ? times_[i] : i, i, -1});
    }
    // Cues that start together keep the order of their list, as they do where a list is copied.
    sort_stably(order, [](const timed& a, const timed& b) {
      return a.when < b.when || (a.when == b.when && a.cue < b.cue);
    });
    for (const timed& each : order) {
      const cue it = from_[each.cue];
      if (each.voice < 0) out_.join(it.voice, it.microbatch, it.aside && !together_);
      else out_.play(it.what, each.voice, it.stage, it.microbatch);
    }
  }

  const score& from_;
  score out_;
  list<list<holding>> held_;                     // of each rank
  list<std::int32_t> first_of_;                  // of each voice of the score its first copy
  list<list<std::int32_t>> of_place_, of_join_;  // cues
  list<std::int32_t> seats_;                     // places of each rank of the score
  cue_times times_;
  bool times_known_ = false;
  bool together_ = false;  // some stage is computed by several ranks
};

}  // namespace detail

// A score on any ranks: every voice v sings spreads[v] times, its stage s for (replica, shard) on rank
// where(v, replica, shard, s). Ranks may hold one place, several of any voices, or none. Where a rank holds
// what one rank of the score held, it plays the same list; otherwise all its cues in one order of time, which
// every rank follows, so that none waits for ever. Ranks that compute together wait for each other within a
// computation and look at nothing else meanwhile: with shards all ranks keep to the order of time, and joins
// are part of it. `together` asks for that order without shards.
// Asks for: a score that prove() passes, and a rank below `ranks` for each (voice, replica, shard, stage).
// Memory: the new score, and once the times of the first one's computations.
// Errors: none of its own.
// Example:
//   score on_two_replicas(const score& from) {
//     return placed(from, {{.replicas = 2}}, 2 * from.ranks(),
//                   [&](int, int replica, int, int stage) { return replica * from.ranks() + stage; });
//   }
template <class Where>
constexpr score placed(const score& from, const list<voice_spread>& spreads, std::int32_t ranks, Where where,
                       bool together = false) {
  return detail::placer(from, spreads, ranks, where, together).place();
}

}  // namespace motet
