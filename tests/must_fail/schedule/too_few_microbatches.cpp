// SPDX-License-Identifier: Apache-2.0
// expect: this schedule needs more microbatches for so many stages.*MT-P02
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/dualpipe_v.hpp>

using namespace motet;

#ifdef MOTET_BREAK
constexpr dualpipe_v::shape shape{.stages = 4, .microbatches = 7};
#else
constexpr dualpipe_v::shape shape{.stages = 4, .microbatches = 8};
#endif

static_assert(proven<dualpipe_v, shape>);
