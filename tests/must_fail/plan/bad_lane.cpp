// SPDX-License-Identifier: Apache-2.0
// expect: lanes of a rank share it.*MT-S25
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
  of.modules[0].share = 0.75;
#ifdef MOTET_BREAK
  of.beside("caption", 0.5);
#else
  of.beside("caption", 0.25);
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
