// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/fed_cell.hpp>
#include <motet/schedule/place/cue_times.hpp>

namespace motet {

// Modules of a score that are multiplexed, and how many forwards of the others earlier than needed they come.
struct multiplexing {
  list<std::uint8_t> modules;     // of each module: 1 if it is
  list<std::int32_t> ahead = {};  // of each module; empty: 0
};

namespace detail {

// Where multiplexed cells stand among the others: each has a moment, of which the starts of the others by
// themselves are the clock. Its forward stands before all that starts then or later, its backward behind all
// that starts then or sooner. Whatever waits has a later moment than what it waits for, and those who compute
// a cell together have one, so nobody waits for itself.
class multiplex_turns {
 public:
  constexpr multiplex_turns(const score& from, const multiplexing& how)
      : from_(from), how_(how), links_(from.voices(), from.feeds()) {
    find_starts();
    find_distances();
    find_needs();
    agree();
    keep_distances();
    agree();
    put_all();
  }
  constexpr score write() const {
    score out;
    for (const voice& each : from_.voices()) out.add(each, [&](int s) { return from_.place(each, s); });
    out.feed_as(from_.feeds());
    for (std::int32_t r = 0; r < from_.ranks(); ++r) {
      out.rank();
      isize next = 0;
      bool in_pair = false;
      const auto put = [&](const auto& comes_first) {
        for (; next < put_[r].size() && comes_first(put_[r][next]); ++next)
          out.play(put_[r][next].what, put_[r][next].at.voice, put_[r][next].at.stage,
                   put_[r][next].at.microbatch);
      };
      for (std::int32_t i = from_.begin_of(r); i < from_.end_of(r); ++i) {
        const cue each = from_[i];
        if (skips(each)) continue;
        if (!in_pair) put([&](const placed_cell& own) { return own.before(starts_[i]); });
        if (each.what == op::join) out.join(each.voice, each.microbatch, each.aside);
        else out.play(each.what, each.voice, each.stage, each.microbatch);
        if (each.paired) out.pair_with_next();
        in_pair = each.paired;
      }
      put([](const placed_cell&) { return true; });
    }
    return out;
  }

 private:
  static constexpr double never = 1e300;
  static constexpr std::int32_t last = 1 << 30;
  struct moment {
    double when = 0;
    std::int32_t number =
        0;                   // of the forward or backward of others that asks for it, were its rank the first
    std::int32_t depth = 0;  // cells between it and the others
    std::int32_t hops = 0;   // and changes of ranks
  };
  struct placed_cell {
    moment own{};
    op what = op::forward;
    std::int32_t module = 0;
    cell_seat at{};

    constexpr bool before(double start) const {
      return what == op::forward ? own.when <= start : own.when < start;
    }
    constexpr bool operator<(const placed_cell& other) const {
      if (own.when != other.own.when) return own.when < other.own.when;
      const bool back = what == op::backward;
      if (what != other.what) return !back;
      if (own.number != other.own.number) return own.number < other.own.number;
      // Rows go from the first to the last, gradients back.
      if (own.depth != other.own.depth) return back == (own.depth < other.own.depth);
      return module != other.module ? module < other.module : at.microbatch < other.at.microbatch;
    }
  };

  constexpr const voice& sings(std::int32_t v) const { return from_.voices()[v]; }
  constexpr bool multiplexed(std::int32_t v) const {
    return sings(v).module < how_.modules.size() && how_.modules[sings(v).module] != 0;
  }
  constexpr bool skips(const cue& of) const { return of.what != op::join && multiplexed(of.voice); }
  constexpr std::int32_t rank_of(const cell_seat& at) const { return from_.place(sings(at.voice), at.stage); }
  static constexpr bool counts_forward(op what) { return is_forward(what) && what != op::re_forward; }
  static constexpr bool counts_backward(op what) {
    return what == op::backward || what == op::backward_input;
  }

  // Finds when each cue of the others could start if there were only these, and its number among the forwards
  // or the backwards of its rank.
  constexpr void find_starts() {
    score alone;
    list<std::int32_t> number(from_.voices().size(), -1);
    for (std::int32_t v = 0; v < from_.voices().size(); ++v) {
      if (multiplexed(v)) continue;
      voice own = sings(v);
      for (std::int32_t k = 0; k < sings(v).module && k < how_.modules.size(); ++k)
        own.module -= how_.modules[k];
      own.lane = 0;  // a rank's starts are to grow along its list
      number[v] = alone.add(own, [&](int s) { return from_.place(sings(v), s); });
    }
    for (const fed_cell& each : from_.feeds())
      if (number[each.from] >= 0 && number[each.to] >= 0)
        alone.feed({number[each.from], each.from_microbatch, number[each.to], each.to_microbatch});
    list<std::int32_t> cues;
    for (std::int32_t r = 0; r < from_.ranks(); ++r) {
      alone.rank();
      for (std::int32_t i = from_.begin_of(r); i < from_.end_of(r); ++i) {
        const cue each = from_[i];
        if (skips(each)) continue;
        cues.push(i);
        if (each.what == op::join) alone.join(each.voice, each.microbatch, each.aside);
        else alone.play(each.what, number[each.voice], each.stage, each.microbatch);
        if (each.paired) alone.pair_with_next();
      }
    }
    const cue_times times(alone);
    starts_.resize(from_.codes().size(), 0);
    for (isize i = 0; i < cues.size(); ++i)
      starts_[cues[i]] = times.ok() ? times[i] : static_cast<double>(cues[i]);
    forwards_.resize(from_.ranks(), {});
    backwards_.resize(from_.ranks(), {});
    forward_of_.resize(from_.cells(), -1);
    backward_of_.resize(from_.cells(), -1);
    for (std::int32_t r = 0; r < from_.ranks(); ++r)
      for (std::int32_t i = from_.begin_of(r); i < from_.end_of(r); ++i) {
        const cue each = from_[i];
        if (each.what == op::join || multiplexed(each.voice)) continue;
        const isize cell = sings(each.voice).cell(each.stage, each.microbatch);
        if (counts_forward(each.what)) count(forwards_[r], forward_of_[cell], i);
        if (counts_backward(each.what)) count(backwards_[r], backward_of_[cell], i);
      }
  }
  static constexpr void count(list<std::int32_t>& all, std::int32_t& number, std::int32_t cue) {
    number = static_cast<std::int32_t>(all.size());
    all.push(cue);
  }
  // Counts the changes of ranks that lie before the first stage of each rank.
  constexpr void find_distances() {
    distance_.resize(from_.ranks(), -1);
    list<std::int32_t> depths(from_.places().size(), -1);
    for (std::int32_t v = 0; v < from_.voices().size(); ++v)
      for (std::int32_t s = 0; s < sings(v).stages && !multiplexed(v); ++s) {
        std::int32_t& own = distance_[from_.place(sings(v), s)];
        const std::int32_t found = depth_of({v, s, 0}, depths);
        if (own < 0 || found < own) own = found;
      }
  }
  constexpr std::int32_t depth_of(const cell_seat& at, list<std::int32_t>& depths) const {
    const isize place = sings(at.voice).first_place + at.stage;
    if (depths[place] >= 0) return depths[place];
    std::int32_t most = 0;
    links_.each_previous(at.voice, at.stage, at.microbatch, [&](const cell_seat& from, int, int) {
      if (multiplexed(from.voice)) return;
      const std::int32_t found = depth_of(from, depths) + (rank_of(from) == rank_of(at) ? 0 : 1);
      most = found > most ? found : most;
    });
    return depths[place] = most;
  }

  template <class Visit>
  constexpr void each_cell(Visit visit) const {
    for (std::int32_t v = 0; v < from_.voices().size(); ++v)
      for (std::int32_t s = 0; s < sings(v).stages && multiplexed(v); ++s)
        for (std::int32_t m = 0; m < sings(v).microbatches; ++m) visit(cell_seat{v, s, m});
  }
  // The first of the others that needs a cell's rows, and the last that gives it gradients.
  constexpr void find_needs() {
    forward_.resize(from_.cells(), {never, last});
    backward_.resize(from_.cells(), {-1, -last});
    each_cell([&](const cell_seat& at) {
      const isize cell = links_.cell(at);
      links_.each_next(at.voice, at.stage, at.microbatch, [&](const cell_seat& to, int, int) {
        if (multiplexed(to.voice)) return;
        const std::int32_t r = rank_of(to), ahead = forward_of_[links_.cell(to)],
                           back = backward_of_[links_.cell(to)];
        if (ahead >= 0) sooner(forward_[cell], {starts_[forwards_[r][ahead]], ahead + distance_[r]});
        if (back >= 0) later(backward_[cell], {starts_[backwards_[r][back]], back - distance_[r]});
      });
    });
  }
  // The cue of a cell's own rank that has the number of the one that asks for it, so many ranks behind; each
  // is put off no further than it may be.
  constexpr void keep_distances() {
    each_cell([&](const cell_seat& at) {
      const isize cell = links_.cell(at);
      const std::int32_t r = rank_of(at), module = sings(at.voice).module,
                         apart = distance_[r] > 0 ? distance_[r] : 0;
      moment &ahead = forward_[cell], &back = backward_[cell];
      const std::int32_t early = module < how_.ahead.size() ? how_.ahead[module] : 0,
                         k = ahead.number - ahead.hops - apart - early, n = back.number + back.hops + apart;
      if (k < 0) ahead.when = -1;
      else if (k < forwards_[r].size() && starts_[forwards_[r][k]] < ahead.when)
        ahead.when = starts_[forwards_[r][k]];
      if (n >= backwards_[r].size()) back.when = never;
      else if (n >= 0 && starts_[backwards_[r][n]] > back.when) back.when = starts_[backwards_[r][n]];
    });
  }
  static constexpr bool sooner(moment& to, const moment& of, std::int32_t depth = 0, std::int32_t hops = 0) {
    const moment was = to;
    if (of.when < to.when) to.when = of.when;
    if (of.number < to.number) to.number = of.number;
    return further(to, of, depth, hops) || was.when != to.when || was.number != to.number;
  }
  static constexpr bool later(moment& to, const moment& of, std::int32_t depth = 0, std::int32_t hops = 0) {
    const moment was = to;
    if (of.when > to.when) to.when = of.when;
    if (of.number > to.number) to.number = of.number;
    return further(to, of, depth, hops) || was.when != to.when || was.number != to.number;
  }
  static constexpr bool further(moment& to, const moment& of, std::int32_t depth, std::int32_t hops) {
    const moment was = to;
    if (of.depth + depth > to.depth) to.depth = of.depth + depth;
    if (of.hops + hops > to.hops) to.hops = of.hops + hops;
    return was.depth != to.depth || was.hops != to.hops;
  }
  // Whoever feeds a multiplexed cell comes no later than that, its gradients no sooner; those who compute a
  // cell together have one moment.
  constexpr void agree() {
    for (bool more = true; more;) {
      more = false;
      each_cell([&](const cell_seat& at) {
        const isize cell = links_.cell(at);
        links_.each_next(at.voice, at.stage, at.microbatch, [&](const cell_seat& to, int, int) {
          if (!multiplexed(to.voice)) return;
          const isize next = links_.cell(to);
          const std::int32_t hops = rank_of(at) == rank_of(to) ? 0 : 1;
          more = sooner(forward_[cell], forward_[next], 1, hops) || more;
          more = later(backward_[cell], backward_[next], 1, hops) || more;
        });
        const isize met = links_.cell(leader(at, false)), met_back = links_.cell(leader(at, true));
        more = sooner(forward_[met], forward_[cell]) || more;
        more = sooner(forward_[cell], forward_[met]) || more;
        more = later(backward_[met_back], backward_[cell]) || more;
        more = later(backward_[cell], backward_[met_back]) || more;
      });
    }
  }
  // One of those with which a cell is computed, the same for all of them.
  constexpr cell_seat leader(cell_seat at, bool back) const {
    const voice& of = sings(at.voice);
    at.voice -= of.shard;
    if (!of.meets_each && !(back && of.sums_each)) return at;
    at.voice = 0;
    while (sings(at.voice).module != of.module) ++at.voice;
    return at;
  }
  constexpr void put_all() {
    put_.resize(from_.ranks(), {});
    each_cell([&](const cell_seat& at) {
      const voice& of = sings(at.voice);
      list<placed_cell>& here = put_[rank_of(at)];
      here.push({forward_[links_.cell(at)], op::forward, of.module, at});
      if (of.learns) here.push({backward_[links_.cell(at)], op::backward, of.module, at});
    });
    for (list<placed_cell>& each : put_)
      sort_stably(each, [](const placed_cell& a, const placed_cell& b) { return a < b; });
  }

  const score& from_;
  const multiplexing& how_;
  cell_links links_;
  list<double> starts_;                            // of each cue of the others
  list<list<std::int32_t>> forwards_, backwards_;  // cues of the others on each rank
  list<std::int32_t> forward_of_, backward_of_;    // number of each cell there
  list<std::int32_t> distance_;                    // of each rank; -1: the others have nothing there
  list<moment> forward_, backward_;                // of each cell that is multiplexed
  list<list<placed_cell>> put_;                    // on each rank, in order
};

}  // namespace detail

}  // namespace motet
