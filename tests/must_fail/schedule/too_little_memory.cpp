// SPDX-License-Identifier: Apache-2.0
// expect: this schedule cannot keep so few microbatches.*MT-P10
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/dualpipe_v.hpp>

using namespace motet;

#ifdef MOTET_BREAK
constexpr dualpipe_v::shape shape{.stages = 4, .microbatches = 8, .memory = 4};
#else
constexpr dualpipe_v::shape shape{.stages = 4, .microbatches = 8, .memory = 5};
#endif

static_assert(proven<dualpipe_v, shape>);
