// SPDX-License-Identifier: Apache-2.0
// expect: a frozen module has no optimizer to shard.*MT-S08
#include "two_towers.hpp"

using namespace motet;

using half_frozen = model<join<info_nce, picture, module<"caption", frozen<caption_net>>>>;

constexpr plan own() {
  plan of = good_plan();
#ifdef MOTET_BREAK
  of.modules[1].zero = 1;
#endif
  return of;
}

static_assert(require<prove_plan<half_frozen, own, 8>()>);
int main() {}
