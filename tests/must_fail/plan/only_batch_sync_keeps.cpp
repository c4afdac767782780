// SPDX-License-Identifier: Apache-2.0
// expect: only batch_sync has a stash and runs forwards ahead.*MT-S16
#include "two_towers.hpp"

using namespace motet;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.schedule = "gpipe";
  of.modules[0].stash = 1;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
