// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/products/gemm_kernel.hpp>

#if MOTET_INSTRUCTION_SETS > 2

// The five instructions on tile registers (AMX). Written as assembly, so that the compiler need not know
// them; a test puts an emulation in their place, as not every machine has them.
#ifndef MOTET_TILE_LOAD
#define MOTET_TILE_CONFIGURE(FROM) __asm__ volatile("ldtilecfg %0" : : "m"(FROM))
#define MOTET_TILE_RELEASE() __asm__ volatile("tilerelease")
#define MOTET_TILE_ZERO(TILE) __asm__ volatile("tilezero %%tmm" #TILE : :)
#define MOTET_TILE_LOAD(TILE, FROM, BYTES) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #TILE : : "r"(FROM), "r"(BYTES) : "memory")
#define MOTET_TILE_STORE(TILE, TO, BYTES) \
  __asm__ volatile("tilestored %%tmm" #TILE ", (%0,%1,1)" : : "r"(TO), "r"(BYTES) : "memory")
#define MOTET_TILE_ADD_PRODUCT(TO, A, B) __asm__ volatile("tdpbf16ps %%tmm" #B ", %%tmm" #A ", %%tmm" #TO : :)
#endif

namespace motet::cpu {

// Names the product of bf16 by tile registers.
struct bf16_tiles {};

// Eight tiles of 16 rows of 64 bytes, for as long as it lives. Giving them back keeps switches between
// threads cheap.
class tile_registers {
 public:
  tile_registers() {
    alignas(64) unsigned char shape[64] = {1};
    for (int tile = 0; tile < 8; ++tile) {
      shape[16 + 2 * tile] = 64;
      shape[48 + tile] = 16;
    }
    MOTET_TILE_CONFIGURE(shape);
  }
  tile_registers(const tile_registers&) = delete;
  tile_registers& operator=(const tile_registers&) = delete;
  ~tile_registers() { MOTET_TILE_RELEASE(); }
};

namespace avx512_bf16 {

// C (+)= A B for 16 Down rows and 16 Across columns, as multiply_tile. 32 k at a time: a tile of A is 16 rows
// of 32 k, a tile of B 16 pairs of k for 16 columns, a tile of C 16 x 16 sums.
template <int Down, int Across>
__attribute__((noinline)) void multiply_with_registers(isize steps, const bf16* a, isize a_row, isize,
                                                       const bf16* b, float* c, isize c_row, isize rows,
                                                       isize columns, bool accumulate, prefetch_line) {
  constexpr isize height = 16 * Down, width = 16 * Across;
  const isize a_bytes = a_row * 2, b_bytes = width * 4;
  const bool whole = rows == height && columns >= width;
  alignas(64) float cut[height * width];
  float* to = whole ? c : cut;
  const isize to_row = whole ? c_row : width, to_bytes = to_row * 4;
  if (accumulate) {
    // Also at the edges the sums start from what is there: the result of a row must not depend on where in
    // the tile, or in whose part, it lies.
    if (!whole)
      for (isize i = 0; i < height; ++i)
        for (isize j = 0; j < width; ++j)
          cut[i * width + j] = i < rows && j < columns ? c[i * c_row + j] : 0.0f;
    MOTET_TILE_LOAD(0, to, to_bytes);
    if constexpr (Across > 1) MOTET_TILE_LOAD(1, to + 16, to_bytes);
    if constexpr (Down > 1) MOTET_TILE_LOAD(2, to + 16 * to_row, to_bytes);
    if constexpr (Down > 1 && Across > 1) MOTET_TILE_LOAD(3, to + 16 * to_row + 16, to_bytes);
  } else {
    MOTET_TILE_ZERO(0);
    MOTET_TILE_ZERO(1);
    MOTET_TILE_ZERO(2);
    MOTET_TILE_ZERO(3);
  }
  for (; steps > 0; steps -= 16, a += 32, b += 32 * width) {
    MOTET_TILE_LOAD(4, a, a_bytes);
    MOTET_TILE_LOAD(6, b, b_bytes);
    MOTET_TILE_ADD_PRODUCT(0, 4, 6);
    if constexpr (Across > 1) {
      MOTET_TILE_LOAD(7, b + 32, b_bytes);
      MOTET_TILE_ADD_PRODUCT(1, 4, 7);
    }
    if constexpr (Down > 1) {
      MOTET_TILE_LOAD(5, a + 16 * a_row, a_bytes);
      MOTET_TILE_ADD_PRODUCT(2, 5, 6);
      if constexpr (Across > 1) MOTET_TILE_ADD_PRODUCT(3, 5, 7);
    }
  }
  MOTET_TILE_STORE(0, to, to_bytes);
  if constexpr (Across > 1) MOTET_TILE_STORE(1, to + 16, to_bytes);
  if constexpr (Down > 1) MOTET_TILE_STORE(2, to + 16 * to_row, to_bytes);
  if constexpr (Down > 1 && Across > 1) MOTET_TILE_STORE(3, to + 16 * to_row + 16, to_bytes);
  if (whole) return;
  for (isize i = 0; i < rows; ++i)
    for (isize j = 0; j < columns && j < width; ++j) c[i * c_row + j] = cut[i * width + j];
}

template <>
struct products<bf16_tiles> {
  using element = bf16;
  using sum = float;
  static constexpr isize group = 2;
  static constexpr isize lanes = 16;
  static constexpr isize grain = 32;
  static constexpr isize tile_rows = 32, tile_vectors = 2;
  static constexpr isize tiles_at_once = 4;
  static constexpr bool adds_whole_sums = false;  // one k after the other goes on top of what is there
  static tile_choice<products> choose(isize rows, isize vectors) {
    if (rows > 16) return {vectors > 1 ? multiply_with_registers<2, 2> : multiply_with_registers<2, 1>, 32};
    return {vectors > 1 ? multiply_with_registers<1, 2> : multiply_with_registers<1, 1>, 16};
  }
};

}  // namespace avx512_bf16
}  // namespace motet::cpu

#endif
