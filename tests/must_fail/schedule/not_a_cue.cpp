// SPDX-License-Identifier: Apache-2.0
// expect: a score holds forwards, backwards and joins only.*MT-P27
#include "two_stages.hpp"

using namespace motet;

#ifdef MOTET_BREAK
constexpr auto order = [](score& out, int tower) { out.play(op::optimizer_step, tower, 0, 0); };
#else
constexpr auto order = in_order;
#endif

static_assert(require<prove_two_stages(order)>);
