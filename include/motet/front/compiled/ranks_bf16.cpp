// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RANKS
#include <motet/front/cpu_ranks.hpp>

MOTET_RANKS(, mixed_bf16)
