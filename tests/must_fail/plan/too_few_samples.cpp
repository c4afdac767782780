// SPDX-License-Identifier: Apache-2.0
// expect: every microbatch needs a sample.*MT-S10
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[1].microbatches = 9;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
