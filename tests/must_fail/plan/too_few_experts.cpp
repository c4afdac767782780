// SPDX-License-Identifier: Apache-2.0
// expect: replicas share experts of a mixture, each of their ranks at least one.*MT-S35
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
  of.modules[0].on = mesh::from(0, degrees{.data = 2});
#ifdef MOTET_BREAK
  of.modules[0].experts = 2;
#else
  of.modules[0].experts = 1;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
