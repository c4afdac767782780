// SPDX-License-Identifier: Apache-2.0
// expect: a tensor group must stay inside a node.*MT-S05
#include <motet/strategy/mesh.hpp>

using namespace motet;

#ifdef MOTET_BREAK
static_assert(
    require<check(mesh::from(1, degrees{.tensor = 2}), cluster_shape{.ranks = 4, .ranks_per_node = 2})>);
#else
static_assert(
    require<check(mesh::from(2, degrees{.tensor = 2}), cluster_shape{.ranks = 4, .ranks_per_node = 2})>);
#endif
int main() {}
