// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/simd.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

// exp, tanh, erf and sigmoid of whole vectors, and the activations with their derivatives. In fp32
// polynomials, within about 1e-7 of the value (relative); in fp64 the functions of <cmath>, lane by lane:
// fp64 serves proofs, not speed.
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/vector_math.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
