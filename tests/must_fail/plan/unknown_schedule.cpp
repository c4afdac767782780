// SPDX-License-Identifier: Apache-2.0
// expect: no schedule has this name.*MT-S15
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.schedule = "one_forward";
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
