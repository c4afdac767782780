// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/simd.hpp>
#include <motet/tensor/random.hpp>

// random_blocks(draws, first, words): the words of as many blocks of a random_stream, from `first` on, as a
// vector has lanes of 64 bits.
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/random_blocks.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>
