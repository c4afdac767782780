// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/balance.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

#include <algorithm>

namespace {

using namespace motet;

// Every way to give each tower a choice.
double best_of_all(const list<list<tower_choice>>& towers, isize units, isize joins, isize k,
                   phase_seconds so_far) {
  if (k == towers.size()) return step_seconds(so_far, joins);
  double best = 1e300;
  for (const tower_choice& each : towers[k])
    if (each.units <= units)
      best =
          std::min(best, best_of_all(towers, units - each.units, joins, k + 1, slower(so_far, each.seconds)));
  return best;
}

list<tower_choice> any_number(double work, double efficiency, isize most) {
  list<tower_choice> out;
  for (isize n = 1; n <= most; ++n) out.push({n, {work / efficiency / static_cast<double>(n), 0, 0}});
  return out;
}

}  // namespace

TEST_CASE("the paper's fourth figure: 1.6 and 4.8 units of work at 45 % want one device and three") {
  const list<list<tower_choice>> towers{any_number(1.6, 0.45, 4), any_number(4.8, 0.45, 4)};
  const list<balanced> found = balance(towers, 4);
  REQUIRE(!found.empty());
  CHECK(towers[0][found[0].choices[0]].units == 1);
  CHECK(towers[1][found[0].choices[1]].units == 3);
  CHECK(found[0].seconds.lead == doctest::Approx(3.56).epsilon(0.001));
}

TEST_CASE("a text tower wants 16 of 64 devices where pictures are three times the work") {
  const list<list<tower_choice>> towers{any_number(3, 1, 64), any_number(1, 1, 64)};
  const list<balanced> found = balance(towers, 64);
  CHECK(towers[0][found[0].choices[0]].units == 48);
  CHECK(towers[1][found[0].choices[1]].units == 16);
}

TEST_CASE("as good as every combination, for any towers") {
  laws::dice roll(7);
  for (int round = 0; round < 300; ++round) {
    const isize units = roll.between(1, 16), joins = roll.between(1, 3);
    list<list<tower_choice>> towers;
    for (int k = roll.between(1, 3); k > 0; --k) {
      list<tower_choice> own;
      for (int c = roll.between(1, 14); c > 0; --c) {
        const auto time = [&] { return static_cast<double>(roll.between(1, 12)); };
        own.push({roll.between(1, 9), {time(), time(), time()}});
      }
      towers.push(own);
    }
    const double wanted = best_of_all(towers, units, joins, 0, {});
    const list<balanced> found = balance(towers, units, joins);
    CHECK(found.empty() == (wanted > 1e200));
    if (found.empty()) continue;
    CHECK(step_seconds(found[0].seconds, joins) == doctest::Approx(wanted));
    for (const balanced& each : found) {
      isize used = 0;
      phase_seconds worst;
      for (isize k = 0; k < towers.size(); ++k) {
        used += towers[k][each.choices[k]].units;
        worst = slower(worst, towers[k][each.choices[k]].seconds);
      }
      CHECK(used == each.units);
      CHECK(used <= units);
      CHECK(worst == each.seconds);
    }
  }
}

TEST_CASE("of equal answers the one on fewer units comes first") {
  const list<list<tower_choice>> towers{{{2, {4, 0, 0}}, {1, {4, 0, 0}}}, {{3, {2, 0, 0}}, {1, {3, 0, 0}}}};
  const list<balanced> found = balance(towers, 8);
  REQUIRE(found.size() == 1);
  CHECK(found[0].units == 2);
}

TEST_CASE("nothing fits") { CHECK(balance({{{4, {1, 0, 0}}}, {{1, {1, 0, 0}}}}, 4).empty()); }
