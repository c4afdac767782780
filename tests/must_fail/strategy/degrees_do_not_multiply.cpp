// SPDX-License-Identifier: Apache-2.0
// expect: the degrees of a module must multiply to the number of its ranks.*MT-S02
#include <motet/strategy/mesh.hpp>

using namespace motet;

#ifdef MOTET_BREAK
static_assert(require<check(mesh(degrees{.stages = 2, .data = 2}, {0, 1, 2}), cluster_shape{.ranks = 4})>);
#else
static_assert(require<check(mesh(degrees{.stages = 2, .data = 2}, {0, 1, 2, 3}), cluster_shape{.ranks = 4})>);
#endif
int main() {}
