// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/voice.hpp>

#include <cstdint>
#include <utility>

namespace motet {

// While two modules computed at once in two lanes of a rank, each took so many times as long as it takes on
// the same threads while the other is idle.
struct pair_point {
  double share = 0.5;                                  // of the rank's threads that the first was to have
  std::int32_t first_threads = 1, second_threads = 1;  // that they had
  double first = 1, second = 1;
};
struct module_pair {
  label first, second;      // names of modules
  double samples = 1;       // of a microbatch of each
  list<pair_point> points;  // by share, no two alike
};

// Puts a point in its place; an equal one is replaced.
constexpr void add_point(module_pair& to, const pair_point& made) {
  isize at = 0;
  while (at < to.points.size() && to.points[at].share < made.share) ++at;
  if (at < to.points.size() && to.points[at].share == made.share) {
    to.points[at] = made;
    return;
  }
  to.points.push(made);
  for (isize k = to.points.size() - 1; k > at; --k) std::swap(to.points[k], to.points[k - 1]);
}

// Null: these two were not measured.
constexpr const module_pair* find_pair(const list<module_pair>& in, const label& one, const label& other) {
  for (const module_pair& each : in)
    if ((each.first == one && each.second == other) || (each.first == other && each.second == one))
      return &each;
  return nullptr;
}

// So many times as long as by itself a module takes beside the other, where it has this share of the threads
// of both: straight between the points that were measured, and beyond them as at the last one; 1 where
// nothing was measured.
constexpr double slowdown_beside(const list<module_pair>& in, const label& one, const label& other,
                                 double share) {
  const module_pair* const found = find_pair(in, one, other);
  if (found == nullptr || found->points.empty()) return 1;
  const bool is_first = found->first == one;
  const double of_first = is_first ? share : 1 - share;
  const list<pair_point>& points = found->points;
  const auto slowdown = [&](isize i) { return is_first ? points[i].first : points[i].second; };
  isize next = 0;
  while (next < points.size() && points[next].share < of_first) ++next;
  if (next == 0) return slowdown(0);
  if (next == points.size()) return slowdown(next - 1);
  const double from = points[next - 1].share, way = (of_first - from) / (points[next].share - from);
  return slowdown(next - 1) + way * (slowdown(next) - slowdown(next - 1));
}

}  // namespace motet
