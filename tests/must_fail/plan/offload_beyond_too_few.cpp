// SPDX-License-Identifier: Apache-2.0
// expect: what a backward needs at once stays in the device's memory.*MT-S37
#include "two_towers.hpp"

using namespace motet;

// The weight parts of its backwards come later, so that several are under way at once.
constexpr plan own() {
  plan of = good_plan();
  of.schedule = "zb_h1";
  for (module_plan& each : of.modules) {
    each.microbatches = 4;
    each.group = 1;
  }
#ifdef MOTET_BREAK
  of.modules[0].offload_beyond = 1;
#else
  of.modules[0].offload_beyond = 2;
#endif
  return of;
}

static_assert(require<prove_plan<towers, own, 8>()>);
int main() {}
