// SPDX-License-Identifier: Apache-2.0
// expect: degrees of a strategy must be positive.*MT-S01
#include <motet/strategy/mesh.hpp>

using namespace motet;

#ifdef MOTET_BREAK
static_assert(require<check(mesh::from(0, degrees{.data = 0}), cluster_shape{.ranks = 4})>);
#else
static_assert(require<check(mesh::from(0, degrees{.data = 1}), cluster_shape{.ranks = 4})>);
#endif
int main() {}
