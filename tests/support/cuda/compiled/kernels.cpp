// SPDX-License-Identifier: Apache-2.0
#define MOTET_EMULATED_KERNELS_HERE
#include "support/cuda/compiled_kernels.hpp"

MOTET_EMULATED_KERNELS()
