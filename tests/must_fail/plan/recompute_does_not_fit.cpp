// SPDX-License-Identifier: Apache-2.0
// expect: recomputation is said for every stage or for none.*MT-S13
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[0].remade = {1};
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
