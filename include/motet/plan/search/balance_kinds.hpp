// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/balance.hpp>

#include <vector>

namespace motet {

// The units of a cluster of several kinds are shared among towers of which each is settled to be on one kind,
// a number in `units`, or on any units that are left (-1): first on every kind among its own towers, then
// among the kinds and the others. As balance() does where all are of one kind.
inline list<balanced> balance_kinds(const list<list<tower_choice>>& towers, const list<isize>& kinds,
                                    const list<isize>& units, isize joins = 1) {
  if (units.size() == 1) return balance(towers, units[0], joins);
  struct member {
    list<isize> towers;
    list<balanced> answers;  // empty: the tower itself
  };
  std::vector<member> members;
  list<list<tower_choice>> choices;
  isize all = 0;
  for (isize kind = 0; kind < units.size(); ++kind) {
    all += units[kind];
    member own;
    list<list<tower_choice>> here;
    for (isize k = 0; k < towers.size(); ++k) {
      if (kinds[k] != kind) continue;
      own.towers.push(k);
      here.push(towers[k]);
    }
    if (here.empty()) continue;
    own.answers = balance(here, units[kind], joins);
    choices.push({});
    for (const balanced& each : own.answers) choices.back().push({each.units, each.seconds});
    members.push_back(own);
  }
  for (isize k = 0; k < towers.size(); ++k) {
    if (kinds[k] >= 0) continue;
    choices.push(towers[k]);
    members.push_back({{k}, {}});
  }
  list<balanced> found = balance(choices, all, joins);
  for (balanced& each : found) {
    list<isize> made(towers.size(), 0);
    for (isize m = 0; m < each.choices.size(); ++m) {
      const member& own = members[as_size(m)];
      for (isize i = 0; i < own.towers.size(); ++i)
        made[own.towers[i]] = own.answers.empty() ? each.choices[m] : own.answers[each.choices[m]].choices[i];
    }
    each.choices = made;
  }
  return found;
}

}  // namespace motet
