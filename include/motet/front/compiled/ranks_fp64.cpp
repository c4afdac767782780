// SPDX-License-Identifier: Apache-2.0
#define MOTET_RUNTIME_HERE
#include <motet/front/compiled.hpp>

MOTET_RUNTIME(, fp64)
