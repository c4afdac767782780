// SPDX-License-Identifier: Apache-2.0
// expect: a tensor group may have as many ranks as the module has key-value heads.*MT-S09
// words: "caption: tensor 3 for 2
#include "two_towers.hpp"

#include <motet/plan/prove/plan_for.hpp>

using namespace motet;
using namespace motet::strategy;

// The compiler names the module beside the sentence and the numbers.
#ifdef MOTET_BREAK
using layout = plan_for<towers, on<"picture", ranks<0, 2>, stages<2>>, on<"caption", ranks<2, 5>, tensor<3>>,
                        by<gpipe, microbatches<2>>>;
#else
using layout = plan_for<towers, on<"picture", ranks<0, 2>, stages<2>>, on<"caption", ranks<2, 4>, tensor<2>>,
                        by<gpipe, microbatches<2>>>;
#endif

static_assert(layout::value().modules.size() == 2);
int main() {}
