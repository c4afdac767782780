// SPDX-License-Identifier: Apache-2.0
// expect: no module of the model has this name.*MT-M03
// words: "audio; there are picture,".*"caption"
// never: "caption: got
#include "two_towers.hpp"

#include <motet/plan/prove/plan_for.hpp>

using namespace motet;
using namespace motet::strategy;

#ifdef MOTET_BREAK
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"audio", ranks<1, 2>>>;
#else
using layout = plan_for<towers, on<"picture", ranks<0, 1>>, on<"caption", ranks<1, 2>>>;
#endif

static_assert(layout::value().modules.size() == 2);
int main() {}
