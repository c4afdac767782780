// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>
#include <cmath>

// The bars of a drawing.

namespace motet {
namespace detail {

// One instruction, or several that run as one, for some time.
struct bar {
  std::int32_t first = 0, count = 1;
  double start = 0, finish = 0;
};

inline bool has_times(const timeline& when, isize i) {
  constexpr double most = 1e300;  // differences stay finite
  return i < when.start.size() && i < when.finish.size() && std::fabs(when.start[i]) < most &&
         std::fabs(when.finish[i]) < most && when.finish[i] >= when.start[i];
}

// The bars of one rank, lane by lane. What takes no time has none.
class rank_bars {
 public:
  rank_bars(const program& of, const timeline& when) : of_(of), when_(when) {}

  void read(std::int32_t rank) {
    for (int l = 0; l < lanes_; ++l) bars_[l].clear();
    lanes_ = 0;
    const std::int32_t end = of_.starts[rank + 1];
    for (std::int32_t i = of_.starts[rank]; i < end;) {
      bar made{i, 1, 0, 0};
      bool any = false;
      for (;; ++i) {
        if (has_times(when_, i)) {
          made.start = any && made.start < when_.start[i] ? made.start : when_.start[i];
          made.finish = any && made.finish > when_.finish[i] ? made.finish : when_.finish[i];
          any = true;
        }
        const instruction& it = of_.instructions[i];
        if (!it.paired || i + 1 == end || of_.instructions[i + 1].lane != it.lane) break;
        ++made.count;
      }
      const int lane = of_.instructions[i++].lane;
      if (!any || made.finish <= made.start) continue;
      if (lane >= lanes_) lanes_ = lane + 1;
      bars_[lane].push(made);
    }
  }
  int lanes() const { return lanes_; }
  const list<bar>& lane(int number) const { return bars_[number]; }
  // Time in lanes that compute, without messages; where several do at once it counts once.
  double busy() const {
    double sum = 0;
    if (lanes_ <= lane::last_channel + 1) {
      for (const bar& each : bars_[lane::compute]) sum += computes(each) ? each.finish - each.start : 0;
      return sum;
    }
    list<bar> all;
    for (int l = 0; l < lanes_; ++l)
      for (const bar& each : bars_[l])
        if (lane::computes(l) && computes(each)) all.push(each);
    std::sort(all.begin(), all.end(), [](const bar& a, const bar& b) { return a.start < b.start; });
    double now = all.empty() ? 0 : all[0].start;
    for (const bar& each : all) {
      if (each.finish <= now) continue;
      sum += each.finish - (each.start > now ? each.start : now);
      now = each.finish;
    }
    return sum;
  }

 private:
  bool computes(const bar& of) const { return !is_transfer(of_.instructions[of.first].what); }

  const program& of_;
  const timeline& when_;
  list<bar> bars_[256];
  int lanes_ = 0;
};

// The span goes from the first start, at most zero, to the last end.
struct time_span {
  double low = 0, high = 0;
  double length() const { return high - low; }
};
inline time_span span_of(const timeline& when) {
  time_span found;
  if (std::fabs(when.makespan) < 1e300) found.high = when.makespan > 0 ? when.makespan : 0;
  for (isize i = 0; i < when.start.size(); ++i) {
    if (!has_times(when, i)) continue;
    if (when.start[i] < found.low) found.low = when.start[i];
    if (when.finish[i] > found.high) found.high = when.finish[i];
  }
  return found;
}

// The share of a rank's time without computation.
inline double idle_share(const rank_bars& bars, const time_span& span) {
  const double busy = span.length() > 0 ? bars.busy() / span.length() : 1;
  return busy > 1 ? 0 : 1 - busy;
}

// The bubble of a program: the idle shares of its ranks in the middle. A rank that computes nothing waits for
// nothing, so it does not count.
class bubble_share {
 public:
  void add(double idle) {
    if (idle >= 1) return;
    sum_ += idle;
    ++ranks_;
  }
  double value() const { return ranks_ > 0 ? sum_ / ranks_ : 0; }

 private:
  double sum_ = 0;
  int ranks_ = 0;
};

// Finds which bar each of `columns` equal slices of time shows, -1 for none. Among the bars in a slice, the
// kind wins that has been shown least for its time: so bars narrower than a slice keep their share of the
// picture.
template <class Kind>
void share_columns(const list<bar>& lane, double low, double width, isize columns, isize kinds, Kind kind,
                   list<std::int32_t>& shown) {
  list<double> owed(kinds + 1, 0);  // the last is idle time
  shown.clear();
  isize first = 0;
  for (isize c = 0; c < columns; ++c) {
    const double from = low + static_cast<double>(c) * width, to = low + static_cast<double>(c + 1) * width;
    while (first < lane.size() && lane[first].finish <= from) ++first;
    const auto overlap = [&](const bar& of) {
      return (of.finish < to ? of.finish : to) - (of.start > from ? of.start : from);
    };
    const double least = 1e-6 * width;
    double idle = width;
    for (isize i = first; i < lane.size() && lane[i].start < to; ++i) {
      const double own = overlap(lane[i]);
      if (own <= least) continue;
      owed[kind(lane[i])] += own;
      idle -= own;
    }
    isize winner = -1, winner_kind = kinds;
    double most = -1e300, widest = 0;
    if (idle > least) most = owed[kinds] += idle;
    for (isize i = first; i < lane.size() && lane[i].start < to; ++i) {
      const double own = overlap(lane[i]);
      if (own <= least) continue;
      const isize own_kind = kind(lane[i]);
      if (owed[own_kind] < most || (own_kind == winner_kind && own <= widest)) continue;
      most = owed[own_kind];
      winner = i;
      winner_kind = own_kind;
      widest = own;
    }
    owed[winner_kind] -= width;
    shown.push(static_cast<std::int32_t>(winner));
  }
}

}  // namespace detail
}  // namespace motet
