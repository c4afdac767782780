// SPDX-License-Identifier: Apache-2.0
// expect: motet: this file computes in numbers that motet::compiled was built without: put them (bf16, fp64) into MOTET_NUMBERS
#define MOTET_COMPILED_KERNELS 1
#define MOTET_COMPILED_WITHOUT_BF16 1
#include <motet/backend/cpu/operations.hpp>

#ifdef MOTET_BREAK
using number = motet::bf16;
#else
using number = float;
#endif

void normed(motet::cpu::context& ctx, const motet::sequences& seq, motet::matrix<const number> x,
            const float* gain, motet::matrix<number> y, motet::matrix<float> stats) {
  motet::cpu::norm_forward(ctx, seq, motet::norm_kind::layer, x, gain, nullptr, 1e-6, y, stats);
}
