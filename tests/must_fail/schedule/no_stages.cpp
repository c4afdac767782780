// SPDX-License-Identifier: Apache-2.0
// expect: motet: a schedule needs at least one stage, one chunk and one microbatch; see the words of the_rule_is_broken [MT-P01]
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#ifdef MOTET_BREAK
constexpr motet::pipeline_shape shape{.stages = 0, .microbatches = 8};
#else
constexpr motet::pipeline_shape shape{.stages = 4, .microbatches = 8};
#endif

static_assert(motet::proven<motet::one_f_one_b, shape>);
