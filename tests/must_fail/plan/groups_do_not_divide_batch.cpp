// SPDX-License-Identifier: Apache-2.0
// expect: the groups of a step must divide its batch.*MT-S11
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  for (module_plan& each : of.modules) each.group = 1;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 9>()>);
int main() {}
