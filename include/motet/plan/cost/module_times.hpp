// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>

#include <string_view>

namespace motet {

// Seconds of one FLOP of each kind.
struct counted_seconds {
  double forward = 0, input = 0, weight = 0;
  friend constexpr bool operator==(const counted_seconds&, const counted_seconds&) = default;
};

// FLOPs of one microbatch through all layers of a module on one rank, and how long that rank computed them,
// what it waited for others left out. A backward that made its forward again has that in neither.
struct times_point {
  counted_seconds flops, seconds;

  constexpr counted_seconds pace() const {
    const auto of = [](double took, double work) { return work > 0 ? took / work : 0; };
    return {of(seconds.forward, flops.forward), of(seconds.input, flops.input),
            of(seconds.weight, flops.weight)};
  }
  friend constexpr bool operator==(const times_point&, const times_point&) = default;
};

// What recorded steps showed of a module whose layers and rows were cut so, on ranks of so many threads.
// Unlike the parts of a tower that are measured alone, it has all of the module, and ranks computed beside
// each other.
struct module_times {
  label module;
  isize layers = 1;
  double work = 0;  // multiplications of a sample, as model_facts has them: another model's are others
  std::int32_t tensor = 1, context = 1;
  int threads = 1;           // of each rank
  double update = 0;         // seconds of one number that is updated; 0: not measured
  list<times_point> points;  // by FLOPs forward

  constexpr bool of_same(const module_times& other) const {
    return module == other.module && tensor == other.tensor && context == other.context &&
           threads == other.threads;
  }
  friend constexpr bool operator==(const module_times&, const module_times&) = default;
};

// Puts a point in its place; one of as many FLOPs forward, to a hundredth, is replaced.
constexpr void add_point(module_times& to, const times_point& made) {
  isize at = 0;
  while (at < to.points.size() && to.points[at].flops.forward < 0.99 * made.flops.forward) ++at;
  if (at < to.points.size() && to.points[at].flops.forward <= 1.01 * made.flops.forward) {
    to.points[at] = made;
    return;
  }
  to.points.push(made);
  for (isize k = to.points.size() - 1; k > at; --k) std::swap(to.points[k], to.points[k - 1]);
}

// Adds what was measured to what is there of the same; of another model nothing is kept.
constexpr void put_times(list<module_times>& to, const module_times& made) {
  for (module_times& each : to) {
    if (!each.of_same(made)) continue;
    if (each.layers != made.layers || each.work != made.work) each.points.resize(0);
    each.layers = made.layers;
    each.work = made.work;
    if (made.update > 0) each.update = made.update;
    for (const times_point& point : made.points) add_point(each, point);
    return;
  }
  to.push(made);
}

// Of a module on ranks of so many threads, those of the degrees that are nearest, by the number of parts; of
// two as near the first. Null: there are none.
constexpr const module_times* find_times(const list<module_times>& in, const label& module,
                                         const degrees& split, int threads) {
  const module_times* best = nullptr;
  double nearest = 0;
  for (const module_times& each : in) {
    if (each.module != module || each.threads != threads || each.points.empty()) continue;
    if (each.tensor == split.tensor && each.context == split.context) return &each;
    const double own = each.tensor * each.context, wanted = split.tensor * split.context,
                 ratio = own > wanted ? own / wanted : wanted / own;
    if (best != nullptr && ratio >= nearest) continue;
    best = &each;
    nearest = ratio;
  }
  return best;
}

// Seconds of a FLOP in microbatches of so many FLOPs forward: between two points in proportion, beyond them
// as at the last.
constexpr counted_seconds pace_at(const module_times& from, double flops) {
  const list<times_point>& points = from.points;
  isize i = 0;
  while (i < points.size() && points[i].flops.forward < flops) ++i;
  if (i == 0) return points[0].pace();
  if (i == points.size()) return points[i - 1].pace();
  const double below = points[i - 1].flops.forward, above = points[i].flops.forward,
               part = (flops - below) / (above - below);
  const counted_seconds low = points[i - 1].pace(), high = points[i].pace();
  const auto between = [&](double first, double second) { return first + part * (second - first); };
  return {between(low.forward, high.forward), between(low.input, high.input),
          between(low.weight, high.weight)};
}

}  // namespace motet
