// SPDX-License-Identifier: Apache-2.0
// expect: motet: this schedule has a fixed number of chunks on each device; see the words of the_rule_is_broken [MT-P07]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#ifdef MOTET_BREAK
constexpr motet::pipeline_shape shape{.stages = 4, .microbatches = 8, .chunks = 2};
#else
constexpr motet::pipeline_shape shape{.stages = 4, .microbatches = 8, .chunks = 1};
#endif

static_assert(motet::proven<motet::zb_h1, shape>);
