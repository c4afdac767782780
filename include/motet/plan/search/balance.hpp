// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>

#include <algorithm>

namespace motet {

// The seconds are what a tower takes in a step with joins: until the first one, from each to the next, and
// behind the last.
struct phase_seconds {
  double lead = 0, steady = 0, drain = 0;
  friend constexpr bool operator==(const phase_seconds&, const phase_seconds&) = default;
};

// Towers that wait for each other at every join.
constexpr phase_seconds slower(const phase_seconds& a, const phase_seconds& b) {
  return {a.lead > b.lead ? a.lead : b.lead, a.steady > b.steady ? a.steady : b.steady,
          a.drain > b.drain ? a.drain : b.drain};
}
// A step of `joins` joins. The maxima of lead, steady and drain can be different towers', so this is more
// than each tower's own step.
constexpr double step_seconds(const phase_seconds& of, isize joins, double join = 0) {
  return of.lead + static_cast<double>(joins - 1) * of.steady + static_cast<double>(joins) * join + of.drain;
}

// Says whether nobody who has to wait for towers with `b` would wait longer for `a`.
constexpr bool covers(const phase_seconds& a, const phase_seconds& b, isize joins) {
  return a.lead <= b.lead && a.drain <= b.drain && (joins < 2 || a.steady <= b.steady);
}

// One way to run a tower: on so many units (devices, or nodes).
struct tower_choice {
  isize units = 1;
  phase_seconds seconds;
};

struct balanced {
  list<isize> choices;  // of each tower, a number in its list
  isize units = 0;
  phase_seconds seconds;
};

namespace detail {

class balancer {
 public:
  balancer(const list<list<tower_choice>>& towers, isize units, isize joins)
      : towers_(towers), units_(units), joins_(joins) {}

  list<balanced> run() {
    partials_.push({});
    list<list<std::int32_t>> open(units_ + 1);
    open[0].push(0);
    for (isize k = 0; k < towers_.size(); ++k) {
      list<list<std::int32_t>> next(units_ + 1);
      for (isize n = 0; n <= units_; ++n)
        for (const std::int32_t from : open[n]) extend(k, from, next);
      drop_dearer(next);
      open = std::move(next);
    }
    list<balanced> out;
    for (const list<std::int32_t>& each : open)
      for (const std::int32_t at : each) out.push(walk_back(at));
    return out;
  }

 private:
  struct partial {
    phase_seconds seconds;
    isize units = 0, choice = -1;
    std::int32_t from = -1;
  };

  void extend(isize k, std::int32_t from, list<list<std::int32_t>>& next) {
    for (isize c = 0; c < towers_[k].size(); ++c) {
      const tower_choice& choice = towers_[k][c];
      const isize n = partials_[from].units + choice.units;
      if (n > units_) continue;
      const phase_seconds both = slower(partials_[from].seconds, choice.seconds);
      list<std::int32_t>& own = next[n];
      if (std::any_of(own.begin(), own.end(),
                      [&](std::int32_t at) { return covers(partials_[at].seconds, both, joins_); }))
        continue;
      drop(own, [&](std::int32_t at) { return covers(both, partials_[at].seconds, joins_); });
      own.push(static_cast<std::int32_t>(partials_.size()));
      partials_.push({both, n, c, from});
    }
  }
  template <class Unwanted>
  static void drop(list<std::int32_t>& from, Unwanted unwanted) {
    from.resize(std::remove_if(from.begin(), from.end(), unwanted) - from.begin());
  }
  // Drops what fewer units do as fast.
  void drop_dearer(list<list<std::int32_t>>& of) {
    list<phase_seconds> best;
    for (list<std::int32_t>& own : of) {
      drop(own, [&](std::int32_t at) {
        return std::any_of(best.begin(), best.end(), [&](const phase_seconds& each) {
          return covers(each, partials_[at].seconds, joins_);
        });
      });
      for (const std::int32_t each : own) best.push(partials_[each].seconds);
    }
  }
  balanced walk_back(std::int32_t at) const {
    balanced out;
    out.units = partials_[at].units;
    out.seconds = partials_[at].seconds;
    for (; partials_[at].from >= 0; at = partials_[at].from) out.choices.push(partials_[at].choice);
    std::reverse(out.choices.begin(), out.choices.end());
    return out;
  }

  const list<list<tower_choice>>& towers_;
  isize units_, joins_;
  list<partial> partials_;
};

}  // namespace detail

// The units of a cluster are shared among towers by recurrence: f_k(n) is the best of f_{k-1}(n - u) and a
// choice of tower k on u units. "Best" is what no other partial answer beats in lead, steady and drain at
// once with as many units, so the joint time is exact and not only the larger of separate times. The result
// is all answers that are not beaten by one on fewer units, by joint time; equal ones by units.
inline list<balanced> balance(const list<list<tower_choice>>& towers, isize units, isize joins = 1) {
  list<balanced> all = detail::balancer(towers, units, joins).run();
  sort_stably(all, [&](const balanced& a, const balanced& b) {
    const double one = step_seconds(a.seconds, joins), other = step_seconds(b.seconds, joins);
    return one < other || (one == other && a.units < b.units);
  });
  return all;
}

}  // namespace motet
