// SPDX-License-Identifier: Apache-2.0
// expect: two modules of a model have the same name.*MT-M04
// words: "picture"
#include "two_towers.hpp"

#include <motet/plan/prove/plan_for.hpp>

using namespace motet;
using namespace motet::strategy;

#ifdef MOTET_BREAK
using layout =
    plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 2>>, on<"picture", ranks<2, 3>>>;
#else
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 2>>>;
#endif

static_assert(layout::value().modules.size() == 2);
int main() {}
