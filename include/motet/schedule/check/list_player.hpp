// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/graph.hpp>

namespace motet {

// Plays each rank's list in its order, as if the rank had one lane: a receive comes behind its send, whoever
// meets others waits for them, and a send blocks nobody. What runs so to its end runs to its end in lanes,
// which wait for less, and by either delivery. A rendezvous takes place when its send's turn comes: its
// receive waits only for the receives before it in its lane, and where those are of earlier sends of the same
// rank, they have taken place. A program that does not run so is for program_player to judge.
class list_player {
 public:
  // The graph is that of buffered messages; its lanes are not read.
  constexpr list_player(const program& of, const program_graph& graph) : of_(of), graph_(graph) {}

  constexpr bool run() {
    if (!find_crossings()) return false;
    const std::int32_t ranks = of_.ranks();
    at_.append(of_.starts.data(), ranks);
    turns_.append(begins_.data(), ranks);
    wants_.resize(ranks, -1);
    next_.resize(ranks, -1);
    receivers_.resize(ranks, -1);
    parked_.resize(graph_.meeting_sizes.size(), -1);
    arrived_.resize(graph_.meeting_sizes.size(), 0);
    // Turns go round, so that whoever has one finds much to do.
    list<std::int32_t> now;
    for (std::int32_t r = 0; r < ranks; ++r) runnable_.push(r);
    while (!runnable_.empty()) {
      std::swap(now, runnable_);
      runnable_.clear();
      for (const std::int32_t r : now) {
        at_[r] = advance(r);
        wake_receivers(r);
      }
    }
    for (std::int32_t r = 0; r < ranks; ++r)
      if (at_[r] < of_.starts[r + 1]) return false;
    return true;
  }

 private:
  // These concern other ranks; all else runs when its turn comes. Of messages, a crossing names the rank that
  // sends.
  static constexpr std::int32_t meets = -1, comes = -2, waits = -3;
  struct crossing {
    std::int32_t at;      // before this instruction
    std::int32_t number;  // the send, or the meeting
    std::int32_t who;
  };

  constexpr std::int32_t send_of(std::int32_t receive) const {
    return graph_.waits[graph_.wait_starts[receive]];
  }
  // The result is false where a receive stands behind anything else in its lane than receives of earlier
  // sends of the same rank.
  constexpr bool find_crossings() {
    list<std::int32_t> last(256, -1);
    const instruction* const all = of_.instructions.data();
    const std::int32_t* const meetings = graph_.meetings.data();
    std::int32_t* const last_of = last.data();
    crossings_.reserve(of_.instructions.size());
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      begins_.push(static_cast<std::int32_t>(crossings_.size()));
      const std::int32_t begin = of_.starts[r], end = of_.starts[r + 1];
      // A meeting beside the computation holds up its own lane and what waits for it.
      std::int32_t beside = -1;
      for (std::int32_t i = begin; i < end; ++i) {
        const instruction& it = all[i];
        const std::int32_t before = std::exchange(last_of[it.lane], i);
        if (beside >= 0 && (before == beside || needs(i, beside)))
          crossings_.push({i, meetings[std::exchange(beside, -1)], waits});
        if (is_receive(it.what)) {
          const std::int32_t send = send_of(i);
          if (before >= begin &&
              (!is_receive(all[before].what) || all[before].peer != it.peer || send_of(before) > send))
            return false;
          crossings_.push({i, send, it.peer});
        } else if (meetings[i] >= 0) {
          const bool goes_on = beside < 0 && !lane::computes(it.lane);
          if (goes_on) beside = i;
          crossings_.push({i, meetings[i], goes_on ? comes : meets});
        }
      }
      if (beside >= 0) crossings_.push({end - 1, meetings[beside], waits});
    }
    begins_.push(static_cast<std::int32_t>(crossings_.size()));
    return true;
  }
  constexpr bool needs(std::int32_t i, std::int32_t other) const {
    for (const std::int32_t each : graph_.waits_of(i))
      if (each == other) return true;
    return false;
  }

  // The result says how far the rank comes. What holds it up is over when it has its turn again.
  constexpr std::int32_t advance(std::int32_t r) {
    const crossing* const all = crossings_.data();
    std::int32_t* const at = at_.data();
    for (std::int32_t k = turns_[r]; k < begins_[r + 1];) {
      const crossing each = all[k++];
      if (each.who >= 0) {
        if (each.number < at[each.who]) continue;
        wants_[r] = each.number;
        next_[r] = std::exchange(receivers_[each.who], r);
      } else {
        if (met(each) || each.who == comes) continue;
        next_[r] = std::exchange(parked_[each.number], r);
      }
      turns_[r] = k;
      return each.at;
    }
    turns_[r] = begins_[r + 1];
    return of_.starts[r + 1];
  }
  // Says whether all are there; the last to come lets the others go on.
  constexpr bool met(const crossing& at) {
    std::int32_t& arrived = arrived_[at.number];
    const std::int32_t all = graph_.meeting_sizes[at.number];
    if (at.who == waits) return arrived == all;
    if (++arrived < all) return false;
    for (std::int32_t r = std::exchange(parked_[at.number], -1); r >= 0; r = next_[r]) runnable_.push(r);
    return true;
  }
  constexpr void wake_receivers(std::int32_t sender) {
    std::int32_t r = std::exchange(receivers_[sender], -1);
    while (r >= 0) {
      const std::int32_t further = next_[r];
      if (wants_[r] < at_[sender]) runnable_.push(r);
      else next_[r] = std::exchange(receivers_[sender], r);
      r = further;
    }
  }

  const program& of_;
  const program_graph& graph_;
  list<crossing> crossings_;                         // rank after rank
  list<std::int32_t> begins_;                        // ranks + 1 positions in crossings
  list<std::int32_t> at_;                            // of each rank its next instruction
  list<std::int32_t> turns_;                         // and its next crossing
  list<std::int32_t> wants_;                         // the send that it waits for
  list<std::int32_t> next_;                          // another rank that waits for the same rank or meeting
  list<std::int32_t> receivers_, parked_, arrived_;  // of each rank, and of each meeting
  list<std::int32_t> runnable_;
};

}  // namespace motet
