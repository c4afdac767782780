// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/balance_kinds.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

#include <algorithm>

namespace {

using namespace motet;

// Every choice of every tower, with what is left of each kind and of all.
double best_of_all(const list<list<tower_choice>>& towers, const list<isize>& kinds, list<isize> left,
                   isize all, isize joins, isize k, phase_seconds so_far) {
  if (k == towers.size()) return step_seconds(so_far, joins);
  double best = 1e300;
  for (const tower_choice& each : towers[k]) {
    list<isize> then = left;
    if (kinds[k] >= 0) then[kinds[k]] -= each.units;
    if (each.units > all || (kinds[k] >= 0 && then[kinds[k]] < 0)) continue;
    best = std::min(
        best, best_of_all(towers, kinds, then, all - each.units, joins, k + 1, slower(so_far, each.seconds)));
  }
  return best;
}

}  // namespace

TEST_CASE("as good as every combination, wherever towers are put") {
  laws::dice roll(11);
  int none = 0;
  for (int round = 0; round < 300; ++round) {
    const isize joins = roll.between(1, 3);
    list<isize> units, kinds;
    isize all = 0;
    for (int kind = roll.between(1, 3); kind > 0; --kind) units.push(roll.between(1, 8));
    for (const isize each : units) all += each;
    list<list<tower_choice>> towers;
    for (int k = roll.between(1, 3); k > 0; --k) {
      list<tower_choice> own;
      for (int c = roll.between(1, 10); c > 0; --c) {
        const auto time = [&] { return static_cast<double>(roll.between(1, 12)); };
        own.push({roll.between(1, 6), {time(), time(), time()}});
      }
      towers.push(own);
      kinds.push(units.size() > 1 ? roll.between(-1, static_cast<int>(units.size()) - 1) : 0);
    }
    const list<balanced> found = balance_kinds(towers, kinds, units, joins);
    const double best = best_of_all(towers, kinds, units, all, joins, 0, {});
    CAPTURE(round);
    if (best > 1e200) {
      CHECK(found.empty());
      ++none;
      continue;
    }
    REQUIRE(!found.empty());
    CHECK(step_seconds(found[0].seconds, joins) == best);
    for (const balanced& each : found) {
      phase_seconds seconds;
      list<isize> left = units;
      isize used = 0;
      for (isize k = 0; k < towers.size(); ++k) {
        const tower_choice& choice = towers[k][each.choices[k]];
        seconds = slower(seconds, choice.seconds);
        used += choice.units;
        if (kinds[k] >= 0) left[kinds[k]] -= choice.units;
      }
      CHECK(seconds == each.seconds);
      CHECK(used == each.units);
      CHECK(used <= all);
      for (const isize rest : left) CHECK(rest >= 0);
    }
  }
  CHECK(none < 150);
}
