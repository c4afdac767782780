// SPDX-License-Identifier: Apache-2.0
// expect: motet: the stash must be from 0 to the group size; see the words of the_rule_is_broken [MT-P05]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/batch_sync.hpp>

#ifdef MOTET_BREAK
constexpr motet::batch_sync::shape shape{
    .towers = {{.stages = 4, .microbatches = 8, .group = 4, .stash = 5}}};
#else
constexpr motet::batch_sync::shape shape{
    .towers = {{.stages = 4, .microbatches = 8, .group = 4, .stash = 2}}};
#endif

static_assert(motet::proven<motet::batch_sync, shape>);
