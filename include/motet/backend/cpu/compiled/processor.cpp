// SPDX-License-Identifier: Apache-2.0
// What knows no number type: the processor, threads that compute together, lists of parameters.
#undef MOTET_COMPILED_KERNELS
#define MOTET_BODY
#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/backend/cpu/device/team.hpp>
#include <motet/nn/core/parameter.hpp>
#include <motet/tensor/random.hpp>
