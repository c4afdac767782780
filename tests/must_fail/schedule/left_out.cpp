// SPDX-License-Identifier: Apache-2.0
// expect: nothing may be left out.*MT-P26
#include "two_stages.hpp"

using namespace motet;

#ifdef MOTET_BREAK
constexpr auto order = [](score& out, int tower) {
  out.play(op::forward, tower, 0, 0);
  out.play(op::forward, tower, 0, 1);
  out.play(op::backward, tower, 0, 0);
};
#else
constexpr auto order = in_order;
#endif

static_assert(require<prove_two_stages(order)>);
