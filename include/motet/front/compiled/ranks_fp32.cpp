// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_RANKS
#include <motet/front/compiled.hpp>

MOTET_RANKS(, fp32)
