// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/random_blocks.hpp>
#include <motet/tensor/near_normal.hpp>

// Numbers of a random stream's normals, one after the other.
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/normal_draws.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
