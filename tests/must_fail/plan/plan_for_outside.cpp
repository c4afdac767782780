// SPDX-License-Identifier: Apache-2.0
// expect: MT-S03
// words: "caption: got rank
#include "two_towers.hpp"

#include <motet/plan/prove/plan_for.hpp>

using namespace motet;
using namespace motet::strategy;

#ifdef MOTET_BREAK
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 2>>, cluster<1>>;
#else
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 2>>, cluster<3>>;
#endif

static_assert(layout::value().cluster.ranks == 3);
int main() {}
