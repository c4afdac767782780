// SPDX-License-Identifier: Apache-2.0
#undef MOTET_COMPILED_KERNELS
#define MOTET_BODY
#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/backend/cpu/device/team.hpp>
