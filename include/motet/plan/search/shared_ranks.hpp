// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/plan_sketch.hpp>

namespace motet {

// Combines points of several towers that share their ranks. Most combinations are no faster than one that was
// met before, and the points of the first towers show it: of the millions that eight towers have, dozens
// count.
class shared_ranks {
 public:
  using chosen = std::vector<const tower_point*>;

  // The points that each tower may take; all of them together may fill so many bytes of a device.
  shared_ranks(const std::vector<chosen>& ways, double memory, isize joins)
      : ways_(ways), memory_(memory), joins_(joins), now_(ways.size()) {
    for (const chosen& own : ways) {
      shared_load least{1e300, 1e300, 1e300, 1e300, 1e300, 1e300, 1e300};
      for (const tower_point* const each : own) least = least.lighter(load_of(*each));
      least_.push_back(least);
    }
  }

  isize size() const {
    isize out = 1;
    for (const chosen& each : ways_) out *= static_cast<isize>(each.size());
    return out;
  }
  // visit(points, seconds) for each, the last tower's point changing first, but for those that do not fit or
  // that something before them in `known` or here covers. Ends early when goes_on() says no.
  template <class Visit, class GoesOn>
  void each(std::vector<phase_seconds> known, Visit visit, GoesOn goes_on) {
    known_ = std::move(known);
    tried_ = 0;
    extend(0, {}, visit, goes_on);
  }
  // each() has met these besides what was known before.
  const std::vector<phase_seconds>& known() const { return known_; }

 private:
  template <class Visit, class GoesOn>
  bool extend(std::size_t k, const shared_load& before, Visit& visit, GoesOn& goes_on) {
    constexpr isize seldom = 4096;
    if (++tried_ % seldom == 0 && !goes_on()) return false;
    if (k == ways_.size()) {
      std::erase_if(known_, [&](const phase_seconds& of) { return covers(before.seconds(), of, joins_); });
      known_.push_back(before.seconds());
      visit(now_, before.seconds());
      return true;
    }
    for (const tower_point* const each : ways_[k]) {
      shared_load made = before, least;
      made.add(load_of(*each));
      least = made;
      for (std::size_t later = k + 1; later < ways_.size(); ++later) least.add(least_[later]);
      if (least.bytes > memory_ || covered(least.seconds())) continue;
      now_[k] = each;
      if (!extend(k + 1, made, visit, goes_on)) return false;
    }
    return true;
  }
  bool covered(const phase_seconds& of) const {
    return std::any_of(known_.begin(), known_.end(),
                       [&](const phase_seconds& by) { return covers(by, of, joins_); });
  }

  const std::vector<chosen>& ways_;
  double memory_;
  isize joins_, tried_ = 0;
  std::vector<shared_load> least_;  // of each tower, in every part
  chosen now_;
  std::vector<phase_seconds> known_;
};

}  // namespace motet
