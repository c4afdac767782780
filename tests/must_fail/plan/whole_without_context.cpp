// SPDX-License-Identifier: Apache-2.0
// expect: samples stay whole where ranks cut others.*MT-S30
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[0].long_rows = 2;
#else
  of.modules[0].long_rows = 0;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
