// SPDX-License-Identifier: Apache-2.0
// expect: zero has the levels 0 to 3.*MT-S14
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[1].zero = 4;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
