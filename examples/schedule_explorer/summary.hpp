// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/runtime/ranks/stand_in.hpp>
#include <motet/schedule/simulate/analyse.hpp>

namespace motet::explorer {

template <class Of>
json::array numbers_of(const list<rank_time>& ranks, Of of) {
  json::array out;
  for (const rank_time& each : ranks) out.emplace_back(of(each));
  return out;
}
inline json::array numbers_of(const list<double>& from) { return json::array(from.begin(), from.end()); }

// Each rank keeps at most so many (stage, microbatch) pairs at once.
inline json::array kept_pairs(const program& of) {
  json::array out;
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    int live = 0, most = 0;
    for (const instruction& it : of.role(r)) {
      if (it.what == op::join || !of.voices[it.voice].learns) continue;
      live += live_change(it.what);
      most = std::max(most, live);
    }
    out.emplace_back(most);
  }
  return out;
}

inline void put_costs(json::object& out, const program& of, const cost_table& costs, const timeline& when) {
  const analysis found = analyse(of, costs, when);
  const auto ranks = [&](auto part) { return numbers_of(found.ranks, part); };
  out.insert("makespan", when.makespan);
  out.insert("bubble", ranks([&](const rank_time& r) { return when.makespan - r.busy; }));
  out.insert("idle_inside", ranks([](const rank_time& r) { return r.idle_inside(); }));
  out.insert("bubble_rate", found.bubble_rate);
  out.insert("peak_live", numbers_of(found.peak_live));
  out.insert("peak_live_chunks", kept_pairs(of));
  out.insert("syncs", numbers_of(found.joined));
  out.insert("idle", json{{"warm_up", ranks([](const rank_time& r) { return r.warm_up; })},
                          {"cool_down", ranks([](const rank_time& r) { return r.cool_down; })},
                          {"dependency", ranks([](const rank_time& r) { return r.dependency; })},
                          {"transfer", ranks([](const rank_time& r) { return r.transfer; })},
                          {"sync", ranks([](const rank_time& r) { return r.sync; })}});
  out.insert("critical_path", found.critical_path.size());
}

// A unit of time becomes so many seconds in a real run that a thread's waking up hardly counts, neither
// against the shortest computation nor against the whole, and not more than half a minute in all.
inline double seconds_of_unit(const program& of, const cost_table& costs, double makespan) {
  double shortest = makespan;
  for (const instruction& it : of.instructions)
    if (const double own = costs.seconds(of, it); own > 0 && own < shortest) shortest = own;
  return std::min(std::max(0.004 / shortest, 1 / makespan), 30 / makespan);
}

}  // namespace motet::explorer
