// SPDX-License-Identifier: Apache-2.0
// expect: a tensor group may have as many ranks as the module has key-value heads.*MT-S09
// words: "at 1: tensor 3 for
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[1].on = mesh::from(0, degrees{.tensor = 3});
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
