// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/score.hpp>

namespace motet {

namespace detail {

// These have happened to one microbatch at one stage.
enum cell_state : isize { ran = 1, kept = 2, kept_nothing = 4, gave_input = 8, gave_weight = 16 };

// Plays a score without time: every rank in its order, a cue as soon as what it needs from other ranks is
// there. It is one function over arrays of numbers, since compilers interpret it.
class rehearsal {
 public:
  constexpr explicit rehearsal(const score& from) : score_(from), links_(from.voices()) {}
  rehearsal(const rehearsal&) = delete;
  rehearsal& operator=(const rehearsal&) = delete;

  constexpr verdict run() {
    if (const verdict found = set_up(); !found.ok()) return found;
    play();
    if (!broken_.ok()) return broken_;
    for (isize r = 0; r < score_.ranks(); ++r)
      if (const verdict found = never_comes(r); !found.ok()) return found;
    for (isize r = 0; r < score_.ranks(); ++r)
      if (at_[r] < begins_[r + 1])
        return {reason::deadlock, r, at_[r] - begins_[r], begins_[r + 1] - begins_[r]};
    return complete();
  }

 private:
  // A rank waits for a cell of another, or for one of these.
  static constexpr isize nothing = -1, a_join = -2;
  enum class outcome : std::uint8_t { go_on, complete, wait, wrong };

  constexpr isize member_first(isize join) const { return join == 0 ? 0 : members_end_[join - 1]; }

  constexpr verdict set_up() {
    for (const std::int32_t place : score_.places()) {
      if (place < 0 || place >= score_.ranks())
        return {reason::bad_structure, places_.size(), place, score_.ranks()};
      places_.push(place);
    }
    // cues before the first rank
    if (score_.begin_of(0) != 0) return {reason::bad_structure, 0, score_.begin_of(0), 0};
    if (const misfed found = find_misfed(score_.voices(), score_.feeds()); !found.ok())
      return {reason::bad_structure, found.from, found.from, found.to};
    links_ = cell_links(score_.voices(), score_.feeds());
    for (const voice& each : score_.voices()) {
      if (each.stages < 1 || each.microbatches < 1 || each.chunks < 1)
        return {reason::no_stages, first_.size(), each.stages, 1};
      if (each.join >= 0 && (each.group < 1 || each.microbatches % each.group != 0))
        return {reason::group_does_not_divide, first_.size(), each.group, each.microbatches};
      if (each.lane < 0 || each.lane >= lane::most_computing)
        return {reason::bad_structure, first_.size(), each.lane, lane::most_computing};
      if (each.offload_beyond < 0) return {reason::bad_structure, first_.size(), each.offload_beyond, 0};
      first_.push(each.first_cell);
      count_.push(each.microbatches);
      last_.push(each.stages - 1);
      voice_place_.push(each.first_place);
      join_.push(each.join);
      group_.push(each.group);
    }
    const isize ranks = score_.ranks();
    passed_.resize(score_.joins() * ranks, 0);
    sings_.resize(score_.joins() * ranks, -1);
    sings_too_.resize(first_.size(), -1);
    isize groups = 0;
    for (isize j = 0; j < score_.joins(); ++j) {
      join_first_.push(groups);
      isize syncs = -1;
      for (isize v = 0; v < first_.size(); ++v) {
        if (join_[v] != j) continue;
        const isize own = count_[v] / group_[v];
        if (syncs >= 0 && own != syncs) return {reason::joins_differ, v, own, syncs};
        syncs = own;
        // A rank that holds several members meets the others once.
        const isize home = places_[voice_place_[v] + last_[v]];
        isize& head = sings_[j * ranks + home];
        if (head < 0) members_.push(home);
        sings_too_[v] = head;
        head = v;
      }
      groups += syncs < 0 ? 0 : syncs;
      join_size_.push(members_.size() - member_first(j));
      members_end_.push(members_.size());
    }
    join_first_.push(groups);
    arrived_.resize(groups, 0);
    state_.resize(score_.cells(), 0);
    met_at_.resize(ranks, -1);
    wants_.resize(ranks, nothing);
    for (isize r = ranks; r-- > 0;) runnable_.push(r);
    for (std::int32_t r = 0; r < ranks; ++r) begins_.push(score_.begin_of(r));
    at_ = begins_;
    begins_.push(score_.codes().size());
    return {};
  }
  // Everything is a local number or pointer: to a compiler, a call in here or a change of type would cost
  // more than what it does.
  constexpr void play() {
    constexpr isize re_forward = static_cast<isize>(op::re_forward),
                    forward_only = static_cast<isize>(op::forward_only),
                    backward = static_cast<isize>(op::backward),
                    backward_weight = static_cast<isize>(op::backward_weight),
                    join = static_cast<isize>(op::join), paired = 32;
    const std::int64_t* const codes = score_.codes().data();
    const isize* const begins = begins_.data();
    isize *const state = state_.data(), *const wants = wants_.data(), *const runnable = runnable_.data(),
                 *const at = at_.data();
    isize top = runnable_.size();
    // These belong to the voice whose turn it is, which seldom changes.
    isize voice = -1, first = 0, count = 0, last = -1;
    bool joined = false;
    const bool feeds = links_.has_feeds();
    const isize* places = nullptr;
    while (top > 0) {
      const isize r = runnable[--top], end = begins[r + 1];
      isize i = at[r], pair_end = -1, missing = nothing;
      for (; i < end; ++i) {
        const isize code = codes[i], what = code & 31, v = code >> 7 & 0xffff, s = code >> 23 & 0xfffff,
                    m = code >> 43 & 0xfffff;
        if ((code & paired) != 0 && pair_end < i) {
          missing = overlap(r, i, end, pair_end);
          if (!broken_.ok()) return;
          if (missing != nothing) break;
        }
        if (what == join) {
          const outcome met_now = meet(r, i - begins[r], v, m, (code & 64) != 0);
          if (met_now == outcome::wrong) return;
          if (met_now == outcome::complete) {
            for (isize member = member_first(v); member < members_end_[v]; ++member) {
              const isize to = members_[member];
              if (wants[to] != a_join) continue;
              wants[to] = nothing;
              runnable[top++] = to;
            }
          }
          if (met_now == outcome::wait) {
            missing = a_join;
            break;
          }
          continue;
        }
        if (v != voice) {
          if (v >= first_.size()) return refuse(reason::not_its_stage, r, i, s);
          voice = v;
          first = first_[v];
          count = count_[v];
          last = last_[v];
          joined = join_[v] >= 0;
          places = places_.data() + voice_place_[v];
        }
        if (s > last || m >= count || places[s] != r) return refuse(reason::not_its_stage, r, i, s);
        const isize cell = first + s * count + m, own = state[cell];
        isize to = 0;
        if (what <= re_forward) {
          // A stage that kept its rows at once does not make them again for the next one.
          const isize wanted = what == re_forward ? kept : ran, before = s > 0   ? cell - count
                                                                         : feeds ? unfed(v, m, wanted)
                                                                                 : nothing;
          if (before != nothing && (state[before] & wanted) == 0) {
            missing = before;
            break;
          }
          if (what == re_forward &&
              (s > 0 ? (state[before] & kept_nothing) == 0 : feeds && kept_at_once(v, m)))
            return refuse(reason::needs_message, r, i, m);
          if (own != (what == re_forward ? ran | kept_nothing : 0)) return refuse(reason::repeated, r, i, m);
          state[cell] = what == forward_only ? ran | kept_nothing : own | ran | kept;
          if (s == last) {
            if (feeds) top = wake(links_of::next, v, s, m, cell, top);
            continue;
          }
          to = places[s + 1];
        } else if (what < backward_weight) {
          const isize after = s < last ? cell + count : feeds ? ungiven(v, s, m) : nothing;
          if (after != nothing && (state[after] & gave_input) == 0) {
            missing = after;
            break;
          }
          if (s == last && joined && !met(v, m)) {
            missing = a_join;
            break;
          }
          if ((own & (kept | gave_input)) != kept)
            return refuse((own & gave_input) != 0 ? reason::repeated : reason::backward_first, r, i, m);
          state[cell] = what == backward ? own | gave_input | gave_weight : own | gave_input;
          if (s == 0) {
            if (feeds) top = wake(links_of::previous, v, s, m, cell, top);
            continue;
          }
          to = places[s - 1];
        } else if (what == backward_weight) {
          if ((own & (gave_input | gave_weight)) != gave_input)
            return refuse((own & gave_weight) != 0 ? reason::repeated : reason::weight_first, r, i, m);
          state[cell] = own | gave_weight;
          continue;
        } else {
          return refuse(reason::not_a_cue, r, i, what);
        }
        if (wants[to] == cell) {
          wants[to] = nothing;
          runnable[top++] = to;
        }
      }
      at[r] = i;
      wants[r] = missing;
    }
  }
  constexpr void refuse(broken_rule why, isize r, isize i, isize what) {
    broken_ = {why, r, i - begins_[r], what};
  }

  // Cues that overlap start together, so all that each needs must be there before the first.
  constexpr isize overlap(isize r, isize i, isize end, isize& pair_end) {
    const isize begin = i;
    const auto wrong = [&] {
      refuse(reason::bad_pair, r, i, 0);
      return nothing;
    };
    for (bool more = true; more; ++i) {
      if (i >= end) return wrong();
      const cue each(score_.codes()[i]);
      if (each.what >= op::join || each.voice >= first_.size() || each.stage > last_[each.voice] ||
          each.microbatch >= count_[each.voice])
        return wrong();
      // Two weight parts of one stage add to one gradient.
      for (isize k = begin; k < i; ++k) {
        const cue other(score_.codes()[k]);
        if (ends(each.what) && ends(other.what) && each.voice == other.voice && each.stage == other.stage)
          return wrong();
        if (score_.voices()[each.voice].lane != score_.voices()[other.voice].lane) return wrong();
      }
      const isize count = count_[each.voice],
                  cell = first_[each.voice] + each.stage * count + each.microbatch;
      // Another rank still has to do this, or this one, which cannot be.
      isize missing = nothing;
      bool here = false;
      const auto needs = [&](const cell_seat& at, isize wanted) {
        if ((state_[links_.cell(at)] & wanted) != 0) return;
        missing = links_.cell(at);
        here = here || place_of(at) == r;
      };
      if (each.what == op::backward_weight) {
        needs({each.voice, each.stage, each.microbatch}, gave_input);
      } else if (is_forward(each.what)) {
        links_.each_previous(each.voice, each.stage, each.microbatch, [&](const cell_seat& at, int, int) {
          needs(at, each.what == op::re_forward ? kept : ran);
        });
      } else if ((state_[cell] & kept) == 0) {
        return wrong();
      } else {
        bool waits = false;
        links_.each_source(2, each.voice, each.stage, each.microbatch, [&](const cell_seat& at, int, int) {
          waits = true;
          needs(at, gave_input);
        });
        if (!waits && join_[each.voice] >= 0 && !met(each.voice, each.microbatch)) return a_join;
      }
      if (missing != nothing) return here ? wrong() : missing;
      more = each.paired;
    }
    pair_end = i - 1;
    return nothing;
  }
  static constexpr std::int32_t narrow(isize number) { return static_cast<std::int32_t>(number); }
  constexpr isize place_of(const cell_seat& at) const { return places_[voice_place_[at.voice] + at.stage]; }
  // The result is one of the cells that feed a microbatch, which has not come so far; nothing: all have.
  constexpr isize unfed(isize v, isize m, isize wanted) const {
    isize found = nothing;
    links_.each_previous(narrow(v), 0, narrow(m), [&](const cell_seat& at, int, int) {
      if ((state_[links_.cell(at)] & wanted) == 0) found = links_.cell(at);
    });
    return found;
  }
  constexpr bool kept_at_once(isize v, isize m) const {
    bool found = false;
    links_.each_previous(narrow(v), 0, narrow(m), [&](const cell_seat& at, int, int) {
      found = found || (state_[links_.cell(at)] & kept_nothing) == 0;
    });
    return found;
  }
  // The result is one of those that it feeds, whose gradient has not come.
  constexpr isize ungiven(isize v, isize s, isize m) const {
    isize found = nothing;
    links_.each_source(2, narrow(v), narrow(s), narrow(m), [&](const cell_seat& at, int, int) {
      if ((state_[links_.cell(at)] & gave_input) == 0) found = links_.cell(at);
    });
    return found;
  }
  // Ranks that wait for a cell can go on.
  enum class links_of : std::uint8_t { next, previous };
  constexpr isize wake(links_of which, isize v, isize s, isize m, isize cell, isize top) {
    const auto one = [&](const cell_seat& at, int, int) {
      const isize to = place_of(at);
      if (wants_[to] != cell) return;
      wants_[to] = nothing;
      runnable_[top++] = to;
    };
    if (which == links_of::next) links_.each_next(narrow(v), narrow(s), narrow(m), one);
    else links_.each_previous(narrow(v), narrow(s), narrow(m), one);
    return top;
  }
  constexpr bool met(isize v, isize m) const {
    return arrived_[join_first_[join_[v]] + m / group_[v]] == join_size_[join_[v]];
  }

  constexpr outcome meet(isize r, isize position, isize j, isize group, bool aside) {
    const auto wrong = [&](broken_rule why, isize got) {
      broken_ = {why, r, position, got};
      return outcome::wrong;
    };
    if (j >= score_.joins() || group >= join_first_[j + 1] - join_first_[j])
      return wrong(reason::not_its_stage, group);
    isize& passed = passed_[j * score_.ranks() + r];
    isize& arrived = arrived_[join_first_[j] + group];
    if (passed == group + 1 && !aside && met_at_[r] == position)
      return arrived == join_size_[j] ? outcome::go_on : outcome::wait;
    if (passed != group) return wrong(passed > group ? reason::repeated : reason::join_order, passed);
    const isize* const state = state_.data();
    isize v = sings_[j * score_.ranks() + r];
    if (v < 0) return wrong(reason::not_its_stage, group);
    for (; v >= 0; v = sings_too_[v]) {
      const isize first = first_[v] + last_[v] * count_[v], end = (group + 1) * group_[v];
      for (isize m = group * group_[v]; m < end; ++m)
        if ((state[first + m] & ran) == 0) return wrong(reason::join_first, m);
    }
    ++passed;
    met_at_[r] = position;
    if (++arrived == join_size_[j]) return outcome::complete;
    return aside ? outcome::go_on : outcome::wait;
  }
  // The result is whether rank r waits for what no rank is going to play.
  constexpr verdict never_comes(isize r) const {
    if (at_[r] == begins_[r + 1] || wants_[r] < 0) return {};
    isize v = 0;
    while (v + 1 < first_.size() && first_[v + 1] <= wants_[r]) ++v;
    const isize stage = (wants_[r] - first_[v]) / count_[v], m = (wants_[r] - first_[v]) % count_[v],
                owner = places_[voice_place_[v] + stage];
    for (isize i = at_[owner]; i < begins_[owner + 1]; ++i) {
      const cue each(score_.codes()[i]);
      if (each.voice == v && each.stage == stage && each.microbatch == m && each.what != op::join) return {};
    }
    return {reason::left_out, owner, stage, m};
  }
  constexpr verdict complete() const {
    const isize* const state = state_.data();
    for (isize v = 0; v < first_.size(); ++v) {
      const isize wanted = score_.voices()[v].learns ? kept | gave_input | gave_weight : ran;
      const isize end = first_[v] + (last_[v] + 1) * count_[v];
      for (isize cell = first_[v]; cell < end; ++cell) {
        if ((state[cell] & wanted) == wanted) continue;
        const isize stage = (cell - first_[v]) / count_[v];
        return {reason::left_out, places_[voice_place_[v] + stage], stage, (cell - first_[v]) % count_[v]};
      }
    }
    for (isize j = 0; j < score_.joins(); ++j)
      for (isize g = join_first_[j]; g < join_first_[j + 1]; ++g)
        if (arrived_[g] != join_size_[j]) return {reason::left_out, j, arrived_[g], join_size_[j]};
    return {};
  }

  const score& score_;
  cell_links links_;
  list<isize> first_, count_, last_, voice_place_, join_, group_;  // of each voice
  // joins: first group, member ranks; arrivals of each group
  list<isize> join_first_, join_size_, members_, members_end_, arrived_;
  // of each join and rank a voice that has its home there, and of each voice another one
  list<isize> sings_, sings_too_;
  list<isize> places_, begins_, at_, met_at_, passed_, runnable_, wants_;  // of stages and ranks
  list<isize> state_;                                                      // of each (stage, microbatch)
  verdict broken_;
};

}  // namespace detail

// Every forward once and before its backward, every backward once, nothing left out, joins in one order on
// all members, and no rank waits for ever. Messages follow from the order, in a lane for each channel, so
// what is proven here holds for the compiled program, with rendezvous as with buffered messages: a channel's
// k-th send and k-th receive wait for nothing but their own ranks' progress up to them. It holds for lanes
// that compute beside each other as well: each waits for no more than a rank with one lane would.
// `where` is the rank, `got` the position in its order.
// Asks for: a score, whoever wrote it.
// Memory: some numbers for each computation, given back at the end.
// Errors: MT-P01, MT-P04, MT-P06, MT-P20, MT-P21, MT-P22, MT-P23, MT-P24, MT-P25, MT-P26, MT-P27, MT-P28,
// MT-P30, MT-P36, MT-P37
// Example:
//   #include <motet/schedule/write/gpipe.hpp>
//   static_assert(prove(gpipe::write({.stages = 2, .microbatches = 2})).ok());
constexpr verdict prove(const score& from) { return detail::rehearsal(from).run(); }

}  // namespace motet
