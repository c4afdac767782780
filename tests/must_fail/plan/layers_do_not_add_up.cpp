// SPDX-License-Identifier: Apache-2.0
// expect: the layers of a module's stages must add up to its layers.*MT-S12
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[0].layers = {1, 2};
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
