// SPDX-License-Identifier: Apache-2.0
// expect: a module may only be placed on ranks that exist.*MT-S03
#include <motet/strategy/mesh.hpp>

using namespace motet;

#ifdef MOTET_BREAK
static_assert(require<check(mesh::from(2, degrees{.data = 3}), cluster_shape{.ranks = 4})>);
#else
static_assert(require<check(mesh::from(1, degrees{.data = 3}), cluster_shape{.ranks = 4})>);
#endif
int main() {}
