// SPDX-License-Identifier: Apache-2.0
// expect: a module may have a rank only once.*MT-S04
#include <motet/strategy/mesh.hpp>

using namespace motet;

#ifdef MOTET_BREAK
static_assert(require<check(mesh(degrees{.data = 2}, {1, 1}), cluster_shape{.ranks = 4})>);
#else
static_assert(require<check(mesh(degrees{.data = 2}, {1, 0}), cluster_shape{.ranks = 4})>);
#endif
int main() {}
