// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_KERNELS
#include <motet/backend/cpu/compiled.hpp>

MOTET_KERNELS_FLOAT()
