// SPDX-License-Identifier: Apache-2.0
// expect: rows come in pieces where a tensor group exchanges them.*MT-S24
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[0].pieces = 2;
#else
  of.modules[0].pieces = 1;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
