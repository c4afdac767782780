// SPDX-License-Identifier: Apache-2.0
// Code that knows no number type is in programs.cpp and launch.cpp. Trainers of either type read and
// instantiate much the same, so one file has both.
#undef MOTET_COMPILED_RANKS
#define MOTET_COMPILED_RANKS 1
#include <motet/front/ranks/cpu_ranks.hpp>

MOTET_RANKS(, fp32)
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
MOTET_RANKS(, mixed_bf16)
#endif
