// SPDX-License-Identifier: Apache-2.0
// expect: motet: the group size must divide the microbatch count; see the words of the_rule_is_broken [MT-P04]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/batch_sync.hpp>

#ifdef MOTET_BREAK
constexpr motet::batch_sync::shape shape{.towers = {{.stages = 4, .microbatches = 8, .group = 3}}};
#else
constexpr motet::batch_sync::shape shape{.towers = {{.stages = 4, .microbatches = 8, .group = 4}}};
#endif

static_assert(motet::proven<motet::batch_sync, shape>);
