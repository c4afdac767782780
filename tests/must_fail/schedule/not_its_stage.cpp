// SPDX-License-Identifier: Apache-2.0
// expect: a rank may only run stages, microbatches and joins of its own.*MT-P20
#include "two_stages.hpp"

using namespace motet;

#ifdef MOTET_BREAK
constexpr auto order = [](score& out, int tower) { out.play(op::forward, tower, 1, 0); };
#else
constexpr auto order = in_order;
#endif

static_assert(require<prove_two_stages(order)>);
