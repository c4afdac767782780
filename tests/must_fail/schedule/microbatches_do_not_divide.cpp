// SPDX-License-Identifier: Apache-2.0
// expect: motet: the microbatch count must be a multiple of the stage count here; see the words of the_rule_is_broken [MT-P03]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/interleaved.hpp>

#ifdef MOTET_BREAK
constexpr motet::pipeline_shape shape{.stages = 4, .microbatches = 6};
#else
constexpr motet::pipeline_shape shape{.stages = 4, .microbatches = 8};
#endif

static_assert(motet::proven<motet::interleaved, shape>);
