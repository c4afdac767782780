// SPDX-License-Identifier: Apache-2.0
// expect: replicas that share experts are a part of all replicas.*MT-S34
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[0].experts = 3;
#else
  of.modules[0].experts = 1;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
