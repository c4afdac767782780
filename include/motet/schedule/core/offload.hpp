// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/score.hpp>

#include <limits>
#include <span>

namespace motet {

// A move takes what backward needs of a microbatch out of the device's memory, or brings it back. In a rank's
// list it stands before the cue at this position of the score.
struct kept_move {
  std::int32_t before = 0;
  op what = op::offload;
  std::int32_t voice = 0, stage = 0, microbatch = 0;
};

// A stage whose backward needs more microbatches at once than its voice lets stay; voice -1: there is none.
struct short_of_room {
  std::int32_t voice = -1, most = 0;
  constexpr bool is_there() const { return voice >= 0; }
};

namespace detail {

// Cues of a rank in one of its lanes; those that overlap are one turn.
struct rank_turn {
  std::int32_t first = 0, end = 0;
};
constexpr list<rank_turn> turns_of_lane(const score& from, std::int32_t rank, std::int32_t lane) {
  list<rank_turn> out;
  for (std::int32_t i = from.begin_of(rank), end = from.end_of(rank); i < end;) {
    const cue first = from[i];
    const std::int32_t begin = i;
    while (i + 1 < end && from[i].paired) ++i;
    ++i;
    const bool here =
        first.what == op::join ? lane == 0 && !first.aside : from.voices()[first.voice].lane == lane;
    if (here) out.push({begin, i});
  }
  return out;
}

// Writes the moves of one stage: before something is kept or comes back, what is needed last leaves, so that
// no more than the voice says stay. What was computed just now leaves only where nothing else can, as the
// next computation would wait for it. What comes back does so a computation ahead, where two have room.
class move_writer {
 public:
  constexpr move_writer(const score& from, const list<rank_turn>& turns, std::int32_t v, std::int32_t s,
                        list<kept_move>& to)
      : turns_(turns), v_(v), s_(s), beyond_(from.voices()[v].offload_beyond), to_(to) {
    needed_.resize(from.voices()[v].microbatches, never);
    gone_.resize(from.voices()[v].microbatches, 0);
    for (std::int32_t t = 0; t < turns.size(); ++t) {
      begins_.push(cues_.size());
      for (std::int32_t i = turns[t].first; i < turns[t].end; ++i) {
        const cue each = from[i];
        if (each.what == op::join || each.voice != v || each.stage != s) continue;
        cues_.push(each);
        if (starts_backward(each)) needed_[each.microbatch] = t;
      }
    }
    begins_.push(cues_.size());
  }

  // The result is the most that the stage keeps at once: more than the voice says where backward needs them.
  constexpr std::int32_t write() {
    if (const std::int32_t all = most_of_all(); all <= beyond_) return all;
    for (std::int32_t t = 0; t < turns_.size(); ++t) {
      take(t);
      for (isize n = begins_[t + 1]; beyond_ > 1 && t + 1 < turns_.size() && n < begins_[t + 2]; ++n)
        if (starts_backward(cues_[n]) && gone_[cues_[n].microbatch] != 0 && make_room(1, t + 1, t))
          fetch(cues_[n].microbatch, t);
      for (const cue& one : of_turn(t))
        if (ends(one.what)) drop(one.microbatch);
    }
    return most_;
  }

 private:
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();
  struct kept {
    std::int32_t microbatch = 0, since = 0;
    bool stays = false;  // until its backward is over
  };

  static constexpr bool starts_backward(const cue& each) {
    return is_backward(each.what) && each.what != op::backward_weight;
  }
  constexpr std::span<const cue> of_turn(std::int32_t t) const {
    return {cues_.begin() + begins_[t], cues_.begin() + begins_[t + 1]};
  }
  // So many would be kept if none left.
  constexpr std::int32_t most_of_all() {
    std::int32_t live = 0, most = 0;
    for (std::int32_t t = 0; t < turns_.size(); ++t) {
      for (const cue& one : of_turn(t)) live += keeps(one.what) ? 1 : 0;
      most = most < live ? live : most;
      for (const cue& one : of_turn(t)) live -= ends(one.what) ? 1 : 0;
    }
    return most;
  }

  // What the turn needs has room, and is there.
  constexpr void take(std::int32_t t) {
    std::int32_t wanted = 0;
    for (const cue& one : of_turn(t)) {
      if (keeps(one.what)) ++wanted;
      if (!starts_backward(one)) continue;
      if (gone_[one.microbatch] != 0) ++wanted;
      for (kept& each : near_) each.stays = each.stays || each.microbatch == one.microbatch;
    }
    make_room(wanted, t, t);
    for (const cue& one : of_turn(t))
      if (starts_backward(one) && gone_[one.microbatch] != 0) fetch(one.microbatch, t);
    for (const cue& one : of_turn(t))
      if (keeps(one.what)) hold({one.microbatch, t, false});
  }
  // Makes room for so many more, and says whether there is; before turn t others leave for it, if turn `now`
  // does not need them.
  constexpr bool make_room(isize wanted, std::int32_t now, std::int32_t t) {
    while (near_.size() + wanted > beyond_) {
      isize found = -1;
      int best = 0;
      for (isize i = 0; i < near_.size(); ++i) {
        const kept& each = near_[i];
        if (each.stays || each.since >= t || needed(each) <= now) continue;
        const int rank = needed(each) == now + 1 ? 1 : each.since + 1 == t ? 2 : 3;
        if (rank < best || (rank == best && needed(each) < needed(near_[found]))) continue;
        best = rank;
        found = i;
      }
      if (found < 0) return false;
      const std::int32_t leaves = near_[found].microbatch;
      to_.push({turns_[t].first, op::offload, v_, s_, leaves});
      gone_[leaves] = 1;
      drop(leaves);
    }
    return true;
  }
  constexpr std::int32_t needed(const kept& each) const { return needed_[each.microbatch]; }
  constexpr void fetch(std::int32_t m, std::int32_t t) {
    to_.push({turns_[t].first, op::fetch, v_, s_, m});
    gone_[m] = 0;
    hold({m, t, true});
  }
  constexpr void hold(const kept& one) {
    near_.push(one);
    if (near_.size() > most_) most_ = static_cast<std::int32_t>(near_.size());
  }
  constexpr void drop(std::int32_t m) {
    isize to = 0;
    for (isize i = 0; i < near_.size(); ++i)
      if (near_[i].microbatch != m) near_[to++] = near_[i];
    near_.resize(to);
  }

  const list<rank_turn>& turns_;
  std::int32_t v_, s_;
  isize beyond_;
  list<kept_move>& to_;
  list<cue> cues_;             // of the stage
  list<isize> begins_;         // of each turn among them
  list<std::int32_t> needed_;  // of each microbatch the turn of its backward
  list<std::uint8_t> gone_;    // of each microbatch
  list<kept> near_;
  std::int32_t most_ = 0;
};

}  // namespace detail

// The moves of all stages on a rank, by the voices' numbers, in the order of the cues that they stand before.
constexpr list<kept_move> moves_of_rank(const score& from, std::int32_t rank,
                                        short_of_room* found = nullptr) {
  list<kept_move> out;
  list<detail::rank_turn> turns;
  std::int32_t lane = -1;
  for (std::int32_t v = 0; v < from.voices().size(); ++v) {
    const voice& of = from.voices()[v];
    if (of.offload_beyond == 0 || !of.learns) continue;
    for (std::int32_t s = 0; s < of.stages; ++s) {
      if (from.place(of, s) != rank) continue;
      if (lane != of.lane) turns = detail::turns_of_lane(from, rank, of.lane);
      lane = of.lane;
      const std::int32_t most = detail::move_writer(from, turns, v, s, out).write();
      if (found != nullptr && !found->is_there() && most > of.offload_beyond) *found = {v, most};
    }
  }
  sort_stably(out, [](const kept_move& a, const kept_move& b) { return a.before < b.before; });
  return out;
}
// Looks for a stage that cannot do with what its voice lets stay.
constexpr short_of_room find_short_of_room(const score& from) {
  short_of_room found;
  for (std::int32_t rank = 0; rank < from.ranks() && !found.is_there(); ++rank)
    moves_of_rank(from, rank, &found);
  return found;
}

}  // namespace motet
