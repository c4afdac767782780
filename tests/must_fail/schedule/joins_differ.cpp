// SPDX-License-Identifier: Apache-2.0
// expect: motet: towers that meet in a join must have equally many groups; see the words of the_rule_is_broken [MT-P06]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/batch_sync.hpp>

#ifdef MOTET_BREAK
constexpr motet::batch_sync::shape shape{
    .towers = {{.stages = 4, .microbatches = 8, .group = 4}, {.stages = 2, .microbatches = 6, .group = 2}},
    .count = 2};
#else
constexpr motet::batch_sync::shape shape{
    .towers = {{.stages = 4, .microbatches = 8, .group = 4}, {.stages = 2, .microbatches = 6, .group = 3}},
    .count = 2};
#endif

static_assert(motet::proven<motet::batch_sync, shape>);
