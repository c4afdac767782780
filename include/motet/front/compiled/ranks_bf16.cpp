// SPDX-License-Identifier: Apache-2.0
// Code that knows no number type is in programs.cpp and launch.cpp.
#undef MOTET_COMPILED_RANKS
#define MOTET_COMPILED_RANKS 1
#include <motet/front/ranks/cpu_ranks.hpp>

MOTET_RANKS(, mixed_bf16)
