// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/core/score.hpp>
#include <motet/schedule/core/shape.hpp>
#include <motet/strategy/sample_parts.hpp>

#include <numeric>

namespace motet {

// A replica of a module in a pipeline that leads through several: its stages, and who feeds it.
struct through_module {
  list<std::int32_t> ranks;   // of each stage
  list<std::int32_t> from{};  // those of the modules whose rows may enter its first stage
  bool learns = true;         // backward goes through it
  bool fixed = false;         // and its weights stay as they are
  bool meets = false;         // its last stage ends in the loss
  bool sums_each = false;     // all replicas sum gradients in every backward
  bool meets_each = false;    // they do every computation together
  std::int32_t microbatches = 1;
  std::int32_t module = -1;  // which one it is a replica of; -1: of one of its own
  std::int32_t replica = 0, replicas = 1;

  std::int32_t join = 0;  // which loss that is

  constexpr sample_parts parts(isize samples) const { return {samples, microbatches, replicas}; }
};

struct through_shape {
  list<through_module> modules;
  bool all_first = false;  // all forwards before all backwards, as gpipe has it; else as 1F1B
  isize samples = 0;       // of a step; 0: as many as all modules cut evenly
  std::int32_t group = 1;  // microbatches of a loss; more than one: all, where all forwards come first
  // The module that meets may have an order of its own: one voice and its joins. Those before it run as far
  // ahead as its first stage asks.
  score last{};

  constexpr bool has_order(const through_module& of) const { return of.meets && last.ranks() > 0; }
  constexpr isize whole() const {
    isize all = samples > 0 ? samples : 1;
    for (const through_module& each : modules)
      if (samples == 0) all = std::lcm(all, each.parts(0).count());
    return all;
  }
};

namespace detail {

class through_writer {
  struct stage_of {
    std::int32_t module = 0, stage = 0;
  };

 public:
  constexpr explicit through_writer(const through_shape& of) : of_(of), samples_(of.whole()) {
    to_.resize(of.modules.size(), {});
    for (isize k = 0; k < of.modules.size(); ++k)
      for (const std::int32_t source : of.modules[k].from) to_[source].push(static_cast<std::int32_t>(k));
    sort_modules();
    if (!sorted()) return;
    feed_all();
    seat_all();
  }
  // The result is false where modules feed each other in a circle.
  constexpr bool sorted() const { return order_.size() == of_.modules.size(); }

  constexpr score write() {
    score out;
    for (const through_module& each : of_.modules) {
      const auto number = static_cast<std::int32_t>(out.voices().size());
      voice made;
      made.module = each.module < 0 ? number : each.module;
      made.replica = each.replica;
      made.stages = static_cast<std::int32_t>(each.ranks.size());
      if (of_.has_order(each)) made.chunks = of_.last.voices()[0].chunks;
      made.microbatches = each.microbatches;
      made.group = of_.group;
      made.join = each.meets ? each.join : -1;
      made.learns = each.learns;
      made.fixed = each.learns && each.fixed;
      made.sums_each = each.sums_each && made.updates();
      made.meets_each = each.meets_each;
      out.add(made, [&](int stage) { return seats_[number][stage]; });
    }
    for (const fed_cell& each : feeds_) out.feed(each);
    find_needs();
    for (std::int32_t seat = 0; seat < played_.size(); ++seat) {
      out.rank();
      if (play_own_order(out, seat)) continue;
      const list<std::int32_t> needs = needs_of(seat);
      const auto all = static_cast<std::int32_t>(needs.size());
      std::int32_t ran = 0;
      for (std::int32_t m = 0; m < all; ++m) {
        for (const std::int32_t until = of_.all_first ? all : needs[m]; ran < until; ++ran)
          forward(out, seat, ran);
        backward(out, seat, m);
      }
    }
    return out;
  }

 private:
  // Sorts modules so that those which feed others come before these.
  constexpr void sort_modules() {
    list<std::uint8_t> there(of_.modules.size(), 0);
    for (bool more = true; more;) {
      more = false;
      for (isize k = 0; k < of_.modules.size(); ++k) {
        bool ready = there[k] == 0;
        for (const std::int32_t source : of_.modules[k].from) ready = ready && there[source] != 0;
        if (!ready) continue;
        there[k] = 1;
        order_.push(static_cast<std::int32_t>(k));
        more = true;
      }
    }
  }
  constexpr bool cut_alike(const through_module& one, const through_module& other) const {
    return one.microbatches == other.microbatches && one.replicas == other.replicas &&
           one.replica == other.replica;
  }
  // Replicas of one module have its samples in the same parts.
  constexpr bool same_module(std::int32_t one, std::int32_t other) const {
    const through_module &a = of_.modules[one], &b = of_.modules[other];
    return a.module >= 0 && a.module == b.module && a.microbatches == b.microbatches &&
           a.replicas == b.replicas;
  }
  // A microbatch is fed by those with samples of its own; feeds go by who gives, then by who takes. Of many
  // replicas that might feed a microbatch few do, and only these are looked at.
  constexpr void feed_all() {
    struct fed {
      isize from = 0;  // place in the list of who may
      std::int32_t m = 0, n = 0;
    };
    list<fed> found;
    for (std::int32_t k = 0; k < of_.modules.size(); ++k) {
      const through_module& to = of_.modules[k];
      const list<std::int32_t>& from = to.from;
      found.clear();
      bool several = false;
      for (isize first = 0, end = 0; first < from.size(); first = end) {
        for (end = first + 1; end < from.size() && same_module(from[first], from[end]);) ++end;
        several = several || end - first > 1;
        const through_module& one = of_.modules[from[first]];
        list<isize> place(one.replicas, -1);
        for (isize i = first; i < end; ++i) place[of_.modules[from[i]].replica] = i;
        for (std::int32_t n = 0; n < to.microbatches; ++n)
          one.parts(samples_).each_with(to.parts(samples_).of(n, to.replica),
                                        [&](std::int32_t m, std::int32_t replica, std::int32_t) {
                                          if (place[replica] >= 0) found.push({place[replica], m, n});
                                        });
      }
      if (several)
        sort_stably(
            found, [](const fed& a, const fed& b) { return a.from != b.from ? a.from < b.from : a.n < b.n; });
      for (const fed& each : found) feeds_.push({from[each.from], each.m, k, each.n});
    }
  }
  // The devices of a module's own order are seats of nobody else; false: the seat is none of them. Where
  // backward meets those of other replicas, it overlaps with nothing.
  constexpr bool play_own_order(score& out, std::int32_t seat) const {
    for (std::int32_t k = 0; k < of_.modules.size(); ++k) {
      const std::int32_t device = seat - first_seats_[k];
      if (first_seats_[k] < 0 || device < 0 || device >= of_.last.ranks()) continue;
      for (std::int32_t i = of_.last.begin_of(device); i < of_.last.end_of(device); ++i) {
        const cue each = of_.last[i];
        if (each.what == op::join) out.join(of_.modules[k].join, each.microbatch, each.aside);
        else out.play(each.what, k, each.stage, each.microbatch);
        if (each.paired && !of_.modules[k].sums_each && !of_.modules[k].meets_each) out.pair_with_next();
      }
      return true;
    }
    return false;
  }
  // Stages on one rank, behind as many changes of ranks, are one seat, where microbatches go on as they are.
  // A rank to which rows come back has several.
  constexpr void seat_all() {
    struct place {
      std::int32_t rank = 0, depth = 0, module = 0;
    };
    list<place> seats;
    list<std::int32_t> depths(of_.modules.size(), 0);  // of the last stage of each
    seats_.resize(of_.modules.size(), {});
    first_seats_.resize(of_.modules.size(), -1);
    for (const std::int32_t k : order_) {
      const through_module& own = of_.modules[k];
      if (of_.has_order(own)) {
        first_seats_[k] = static_cast<std::int32_t>(seats.size());
        for (std::int32_t d = 0; d < of_.last.ranks(); ++d) seats.push({-1, -1, k});
        for (std::int32_t s = 0; s < own.ranks.size(); ++s)
          seats_[k].push(first_seats_[k] + of_.last.place(of_.last.voices()[0], s));
        continue;
      }
      std::int32_t depth = 0;
      for (const std::int32_t source : own.from) {
        const through_module& feeds = of_.modules[source];
        const bool stays = feeds.ranks.back() == own.ranks[0] && cut_alike(feeds, own);
        const std::int32_t behind = depths[source] + (stays ? 0 : 1);
        if (behind > depth) depth = behind;
      }
      for (isize s = 0; s < own.ranks.size(); ++s) {
        if (s > 0 && own.ranks[s] != own.ranks[s - 1]) ++depth;
        std::int32_t seat = 0;
        while (seat < seats.size() && (seats[seat].rank != own.ranks[s] || seats[seat].depth != depth ||
                                       !cut_alike(of_.modules[seats[seat].module], own)))
          ++seat;
        if (seat == seats.size()) seats.push({own.ranks[s], depth, k});
        seats_[k].push(seat);
      }
      depths[k] = depth;
    }
    played_.resize(seats.size(), {});
    for (const std::int32_t k : order_)
      for (std::int32_t s = 0; s < seats_[k].size(); ++s) played_[seats_[k][s]].push({k, s});
  }
  // Each stage has so many forwards before each backward: that many microbatches come to it before
  // the gradient does. Behind a change of ranks there is always one more to go on with.
  constexpr void find_needs() {
    needs_.resize(of_.modules.size(), {});
    for (isize i = order_.size(); i-- > 0;) {
      const std::int32_t k = order_[i];
      const std::int32_t all = of_.modules[k].microbatches;
      const list<std::int32_t>& seats = seats_[k];
      needs_[k].resize(seats.size(), {});
      if (of_.has_order(of_.modules[k])) {
        needs_[k][0] = needs_of_own_order();
        continue;
      }
      for (isize s = seats.size(); s-- > 0;) {
        list<std::int32_t>& own = needs_[k][s];
        for (std::int32_t m = 0; m < all; ++m) own.push(m + 1);
        if (s + 1 == seats.size()) {
          for (isize t = 0; t < to_[k].size(); ++t)
            if (t == 0 || !reach_alike(k, to_[k][t - 1], to_[k][t])) reach(k, to_[k][t]);
          continue;
        }
        const list<std::int32_t>& next = needs_[k][s + 1];
        for (std::int32_t m = 0; m < all; ++m)
          own[m] = seats[s + 1] == seats[s] ? next[m] : least(all, next[m] + 1);
      }
    }
  }
  // The needs of the module's first stage: what overlaps starts together, so that all forwards of it come
  // before.
  constexpr list<std::int32_t> needs_of_own_order() const {
    const voice& only = of_.last.voices()[0];
    const std::int32_t device = of_.last.place(only, 0);
    list<std::int32_t> own(only.microbatches, 0);
    std::int32_t ran = 0;
    for (std::int32_t i = of_.last.begin_of(device), end = i; i < of_.last.end_of(device); i = end) {
      do {
        const cue each = of_.last[end];
        if (each.what == op::forward && each.stage == 0) ++ran;
      } while (of_.last[end++].paired);
      for (std::int32_t c = i; c < end; ++c)
        if (const cue each = of_.last[c];
            (each.what == op::backward || each.what == op::backward_input) && each.stage == 0)
          own[each.microbatch] = ran;
    }
    return own;
  }
  // Finds what the last stage of a module needs so that one that it feeds gets on. All replicas of a module
  // get on together, as the loss waits for all of them, so that counts of microbatches alone decide.
  constexpr void reach(std::int32_t k, std::int32_t target) {
    list<std::int32_t>& own = needs_[k].back();
    const list<std::int32_t>& theirs = needs_[target][0];
    const bool same = seats_[k].back() == seats_[target][0];
    const sample_parts all = of_.modules[k].parts(samples_), others = of_.modules[target].parts(samples_);
    for (std::int32_t m = 0; m < all.microbatches; ++m) {
      // The last of the other's microbatches with samples of this one, and the forwards before its backward.
      const std::int32_t further = theirs[others.microbatch_with(all.microbatch(m).end - 1)];
      // With the next behind them, how many of this module's they take.
      const std::int32_t next = least(further, others.microbatches - 1),
                         taken = all.microbatch_with(others.microbatch(next).end - 1) + 1,
                         found = same ? further : taken;
      if (found > own[m]) own[m] = found;
    }
  }
  // What it finds of one target is what it found of another.
  constexpr bool reach_alike(std::int32_t k, std::int32_t one, std::int32_t other) const {
    const std::int32_t own = seats_[k].back();
    return same_module(one, other) && (seats_[one][0] == own) == (seats_[other][0] == own) &&
           needs_[one][0] == needs_[other][0];
  }
  constexpr list<std::int32_t> needs_of(std::int32_t seat) const {
    list<std::int32_t> most;
    for (const stage_of& each : played_[seat]) {
      const list<std::int32_t>& own = needs_[each.module][each.stage];
      most.resize(own.size(), 0);
      for (isize m = 0; m < most.size(); ++m)
        if (own[m] > most[m]) most[m] = own[m];
    }
    return most;
  }
  constexpr bool is_end(const stage_of& at) const {
    return at.stage + 1 == of_.modules[at.module].ranks.size();
  }
  constexpr void forward(score& out, std::int32_t seat, std::int32_t m) const {
    const list<stage_of>& here = played_[seat];
    for (isize i = 0; i < here.size(); ++i) {
      const through_module& each = of_.modules[here[i].module];
      out.play(op::forward, here[i].module, here[i].stage, m);
      if (each.meets && is_end(here[i]) && (m + 1) % of_.group == 0 && last_of_join(here, i))
        out.join(each.join, m / of_.group);
    }
  }
  // No module behind this one has its end on the seat, and is in the same loss.
  constexpr bool last_of_join(const list<stage_of>& here, isize i) const {
    const std::int32_t join = of_.modules[here[i].module].join;
    for (isize other = i + 1; other < here.size(); ++other)
      if (const through_module& each = of_.modules[here[other].module];
          each.meets && each.join == join && is_end(here[other]))
        return false;
    return true;
  }
  constexpr void backward(score& out, std::int32_t seat, std::int32_t m) const {
    const list<stage_of>& here = played_[seat];
    for (isize i = here.size(); i-- > 0;)
      if (of_.modules[here[i].module].learns) out.play(op::backward, here[i].module, here[i].stage, m);
  }

  const through_shape& of_;
  isize samples_;                   // of a step
  list<list<std::int32_t>> to_;     // of each module those that it feeds
  list<std::int32_t> order_;        // of modules
  list<list<std::int32_t>> seats_;  // of each stage: the devices of the score
  list<std::int32_t> first_seats_;  // of each module with an order of its own; -1: it has none
  list<list<stage_of>> played_;     // on each device of the score, in the order in which rows go on
  list<fed_cell> feeds_;
  list<list<list<std::int32_t>>> needs_;  // of each stage and microbatch
};

}  // namespace detail

// Modules that feed one another as one pipeline: each microbatch goes through all of them and its gradient
// back, and a device is as many microbatches ahead as rows still change ranks behind it. Of stages one
// behind the other on one rank, which are one device of the score, each microbatch passes all before the
// next. Each microbatch has a loss of its own. Modules may have replicas and microbatches in other numbers
// than those that they feed: a microbatch then feeds all that have samples of its own, and waits for all of
// their gradients. The module that meets may have an order of its own, such as an interleaved one; then the
// others alone are written here, each as far ahead as its first stage asks.
constexpr verdict check_through(const through_shape& of) {
  for (isize k = 0; k < of.modules.size(); ++k) {
    if (of.modules[k].microbatches < 1) return {reason::no_stages, k, of.modules[k].microbatches, 1};
    if (of.modules[k].ranks.empty()) return {reason::no_stages, k, 0, 1};
  }
  if (!detail::through_writer(of).sorted()) return {reason::feeds_in_a_circle, 0, of.modules.size(), 0};
  return {};
}
// The order of a shape that check_through() accepts.
// Asks for: one stage or more of each module, and feeds that make no circle; check_through() says so.
// Memory: the score; a device keeps as many microbatches as are between it and their loss.
// Errors: MT-M11, MT-P01
// Example:
//   score of_two() {
//     through_shape all;
//     all.modules.push({.ranks = {0}, .microbatches = 4});
//     all.modules.push({.ranks = {1}, .from = {0}, .meets = true, .microbatches = 4});
//     return write_through(all);
//   }
constexpr score write_through(const through_shape& of) { return detail::through_writer(of).write(); }

}  // namespace motet
