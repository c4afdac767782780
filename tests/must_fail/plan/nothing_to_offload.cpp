// SPDX-License-Identifier: Apache-2.0
// expect: only what a module keeps for backward can be offloaded.*MT-S36
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
  of.modules[0].remade = {1, 1};
#ifdef MOTET_BREAK
  of.modules[0].offload_beyond = 2;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
