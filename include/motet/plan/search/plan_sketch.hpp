// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/place.hpp>
#include <motet/plan/search/tower_points.hpp>

#include <span>

namespace motet {

// A plan whose towers have no ranks yet.
struct plan_sketch {
  list<tower_point> points;  // of each tower
  list<isize> hosts;         // of each tower the one on whose ranks it sits; -1: it has its own
  phase_seconds seconds;     // no plan of it takes less

  isize ranks() const {
    isize sum = 0;
    for (isize k = 0; k < points.size(); ++k) sum += hosts[k] < 0 ? points[k].ranks() : 0;
    return sum;
  }
  // A list of the best tells plans apart by degrees, by kinds of devices, and by who shares ranks or experts.
  bool same_structure(const plan_sketch& other) const {
    for (isize k = 0; k < points.size(); ++k)
      if (hosts[k] != other.hosts[k] || !(points[k].split == other.points[k].split) ||
          points[k].kinds != other.points[k].kinds || points[k].experts != other.points[k].experts)
        return false;
    return true;
  }
  bool simpler(const plan_sketch& other) const {
    for (isize k = 0; k < points.size(); ++k)
      if ((hosts[k] < 0) != (other.hosts[k] < 0)) return hosts[k] < 0;
    for (isize k = 0; k < points.size(); ++k) {
      const auto own = points[k].complexity(), others = other.points[k].complexity();
      if (own != others) return own < others;
    }
    return false;
  }
};

// Sketches are sorted by their time for a step of so many joins; equally fast ones stay as they come.
inline std::vector<const plan_sketch*> by_time(const list<plan_sketch>& all, isize joins) {
  std::vector<std::pair<double, const plan_sketch*>> order;
  for (const plan_sketch& each : all) order.emplace_back(step_seconds(each.seconds, joins), &each);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const plan_sketch*> out;
  out.reserve(order.size());
  for (const auto& [seconds, each] : order) out.push_back(each);
  return out;
}

inline list<seating> seatings_of(const plan_sketch& of, const model_shape& model, const training_bytes& bytes,
                                 isize samples, const estimate_options& play) {
  list<seating> out;
  for (isize k = 0; k < of.points.size(); ++k) {
    const double features = static_cast<double>(samples) * bytes_of_sample(model, k, bytes, play);
    out.push({of.points[k].split, of.points[k].boundary_bytes, of.points[k].gradient_bytes, of.hosts[k],
              features, of.points[k].kinds});
  }
  return out;
}

inline plan plan_of(const plan_sketch& of, const seat_layout& seats, const model_shape& model,
                    const cluster_facts& on, isize joins) {
  plan out;
  out.cluster.ranks = on.devices();
  out.cluster.ranks_per_node = on.nodes > 1 ? on.devices_per_node : 0;
  for (isize k = 0; k < of.points.size(); ++k) {
    module_plan own = module_plan_of(model.towers[k], of.points[k], joins);
    own.on = mesh(of.points[k].split, seats.ranks[k]);
    out.modules.push(own);
  }
  return out;
}

// A shared load is what towers on the same ranks take there: each has its own way through its stages, and all
// work adds up.
struct shared_load {
  double forward = 0, steady = 0, backward = 0;
  double filling = 0,
         emptying = 0;  // the longest way of a tower besides its work, before its join and behind
  double tail = 0;
  double bytes = 0;

  void add(const shared_load& tower) {
    forward += tower.forward;
    steady += tower.steady;
    backward += tower.backward;
    filling = std::max(filling, tower.filling);
    emptying = std::max(emptying, tower.emptying);
    tail = std::max(tail, tower.tail);
    bytes += tower.bytes;
  }
  // The lesser of both in every part.
  shared_load lighter(const shared_load& other) const {
    return {std::min(forward, other.forward),   std::min(steady, other.steady),
            std::min(backward, other.backward), std::min(filling, other.filling),
            std::min(emptying, other.emptying), std::min(tail, other.tail),
            std::min(bytes, other.bytes)};
  }
  phase_seconds seconds() const { return {forward + filling, steady, backward + emptying + tail}; }
};
inline shared_load load_of(const tower_point& of) {
  return {of.forward,
          of.seconds.steady,
          of.backward,
          of.seconds.lead - of.forward,
          of.seconds.drain - of.backward - of.tail,
          of.tail,
          of.bytes};
}
inline phase_seconds together(std::span<const tower_point* const> towers) {
  if (towers.size() == 1) return towers[0]->seconds;
  shared_load out;
  for (const tower_point* each : towers) out.add(load_of(*each));
  return out.seconds();
}
// No placement of these towers takes less; the steady part is of last stages alone.
inline phase_seconds least_together(std::span<const tower_point* const> towers) {
  phase_seconds worst, sums;
  for (const tower_point* each : towers) {
    worst = slower(worst, {each->seconds.lead, each->last_steady, each->seconds.drain});
    sums.lead += each->least_forward;
    sums.drain += each->least_backward + each->update;
  }
  return slower(worst, sums);
}

// Every way to say who shares ranks with whom: the groups of each, a tower's number for each. All where there
// are at most three towers; else all apart, all together, or any two together.
inline list<list<isize>> groupings(isize towers, bool apart, bool together) {
  list<list<isize>> out;
  list<isize> own(towers, 0);
  const auto add = [&](const list<isize>& made) {
    const isize groups = 1 + *std::max_element(made.begin(), made.end());
    if ((groups < towers && !together) || (groups > 1 && !apart)) return;
    if (std::find(out.begin(), out.end(), made) == out.end()) out.push(made);
  };
  for (isize k = 0; k < towers; ++k) own[k] = k;
  add(own);
  if (towers > 3) {
    for (isize a = 0; a < towers; ++a) {
      for (isize b = a + 1; b < towers; ++b) {
        list<isize> made;
        for (isize k = 0, next = 0; k < towers; ++k) made.push(k == b ? made[a] : next++);
        add(made);
      }
    }
  } else {
    for (isize b = 0; b <= 1 && towers > 2; ++b)
      for (isize c = 0; c <= b + 1; ++c) add({0, b, c});
  }
  add(list<isize>(towers, 0));
  return out;
}

}  // namespace motet
