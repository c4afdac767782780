// SPDX-License-Identifier: Apache-2.0
// expect: what backward makes again cannot wait for its weight part.*MT-S17
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
  of.schedule = "zb_h1";
  for (module_plan& each : of.modules) each.group = 1;
#ifdef MOTET_BREAK
  of.modules[0].remade = {1, 1};
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
