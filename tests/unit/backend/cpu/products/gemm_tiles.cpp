// SPDX-License-Identifier: Apache-2.0
// The tile registers as plain arrays: the kernel's addresses, edges and packing are proven on machines that
// have no such registers.
#include <cstdint>
#include <cstring>

namespace {

struct emulated_tile {
  unsigned char bytes[16][64];
};
emulated_tile tiles[8];
bool configured = false;

inline float widen(const unsigned char* at) {
  std::uint16_t half = 0;
  std::memcpy(&half, at, 2);
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline void add_product(emulated_tile& c, const emulated_tile& a, const emulated_tile& b) {
  for (int m = 0; m < 16; ++m)
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 16; ++n) {
        float sum = 0;
        std::memcpy(&sum, &c.bytes[m][4 * n], 4);
        sum += widen(&a.bytes[m][4 * k]) * widen(&b.bytes[k][4 * n]) +
               widen(&a.bytes[m][4 * k + 2]) * widen(&b.bytes[k][4 * n + 2]);
        std::memcpy(&c.bytes[m][4 * n], &sum, 4);
      }
}

}  // namespace

#define MOTET_TILE_CONFIGURE(FROM)                                                                    \
  configured = FROM[0] == 1 && FROM[16] == 64 && FROM[17] == 0 && FROM[30] == 64 && FROM[48] == 16 && \
               FROM[55] == 16 && FROM[56] == 0
#define MOTET_TILE_RELEASE() configured = false
#define MOTET_TILE_ZERO(TILE) std::memset(&tiles[TILE], 0, sizeof(emulated_tile))
#define MOTET_TILE_LOAD(TILE, FROM, BYTES) \
  for (int row = 0; row < 16; ++row)       \
  std::memcpy(tiles[TILE].bytes[row], reinterpret_cast<const char*>(FROM) + row * (BYTES), 64)
#define MOTET_TILE_STORE(TILE, TO, BYTES) \
  for (int row = 0; row < 16; ++row)      \
  std::memcpy(reinterpret_cast<char*>(TO) + row * (BYTES), tiles[TILE].bytes[row], 64)
#define MOTET_TILE_ADD_PRODUCT(TO, A, B) add_product(tiles[TO], tiles[A], tiles[B])

#include "../../../../laws/grid.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/products/gemm.hpp>

#include <cmath>
#include <memory>

namespace motet {
namespace {

#if MOTET_INSTRUCTION_SETS > 2

using cpu::gemm_epilogue, cpu::gemm_operand;
using laws::grid;

TEST_CASE("tile registers are set up and given back") {
  CHECK_FALSE(configured);
  {
    const cpu::tile_registers held;
    CHECK(configured);
  }
  CHECK_FALSE(configured);
}

template <class A, class B, class Out>
void check(isize m, isize n, isize k, bool turn_a, bool turn_b, bool accumulate, isize gap) {
  grid<A> a(turn_a ? k : m, turn_a ? m : k, gap);
  grid<B> b(turn_b ? n : k, turn_b ? k : n, gap + 1);
  grid<Out> out(m, n, gap);
  a.random(1), b.random(2), out.random(3);
  grid<double> want(m, n), magnitude(m, n);
  for (isize i = 0; i < m; ++i) {
    for (isize j = 0; j < n; ++j) {
      double sum = accumulate ? out(i, j) : 0, size = std::abs(sum);
      for (isize l = 0; l < k; ++l) {
        const double term = static_cast<double>(bf16(static_cast<float>(turn_a ? a(l, i) : a(i, l)))) *
                            static_cast<double>(bf16(static_cast<float>(turn_b ? b(j, l) : b(l, j))));
        sum += term, size += std::abs(term);
      }
      want.at(i, j) = sum, magnitude.at(i, j) = size;
    }
  }
  static const auto scratch =
      std::make_unique<std::byte[]>(static_cast<std::size_t>(cpu::gemm_scratch_bytes));
  gemm_epilogue<float> epilogue;
  epilogue.accumulate = accumulate;
  cpu::detail::multiply_with_tiles(m, n, k, gemm_operand<A>{a.data.data(), a.stride, turn_a},
                                   gemm_operand<B>{b.data.data(), b.stride, turn_b}, out.data.data(),
                                   out.stride, epilogue, scratch.get());
  isize wrong = 0;
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < n; ++j)
      wrong += !(std::abs(out(i, j) - want(i, j)) <=
                 4e-7 * (1 + magnitude(i, j)) + (sizeof(Out) == 2 ? 0x1p-8 * std::abs(want(i, j)) : 0));
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(turn_a);
  CAPTURE(turn_b);
  CHECK(wrong == 0);
  CHECK(out.gaps_intact());
}

// Packing for tiles uses AVX-512 with bf16; only the tile registers themselves are emulated.
bool can_pack() { return cpu::kernel_available(cpu::kernel_kind::avx512_bf16); }

template <class A, class B, class Out>
void check_shapes() {
  if (!can_pack()) return;
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true}) {
      check<A, B, Out>(1, 1, 1, turn_a, turn_b, false, 0);
      check<A, B, Out>(16, 16, 32, turn_a, turn_b, true, 0);
      check<A, B, Out>(32, 32, 64, turn_a, turn_b, false, 0);
      check<A, B, Out>(32, 64, 96, turn_a, turn_b, true, 0);
      check<A, B, Out>(77, 45, 70, turn_a, turn_b, true, 3);
      check<A, B, Out>(150, 33, 31, turn_a, turn_b, false, 1);
      check<A, B, Out>(33, 97, 1030, turn_a, turn_b, true, 1);
      check<A, B, Out>(7, 5, 0, turn_a, turn_b, true, 1);
    }
}

TEST_CASE("products by tiles: bf16 operands, sums and results in fp32") { check_shapes<bf16, bf16, float>(); }
TEST_CASE("products by tiles: fp32 weights are rounded on the way, results in bf16") {
  check_shapes<bf16, float, bf16>();
}
TEST_CASE("products by tiles: fp32 operands") { check_shapes<float, float, float>(); }

TEST_CASE("a row by itself is the row among others, at the edges too") {
  if (!can_pack()) return;
  const auto scratch = std::make_unique<std::byte[]>(static_cast<std::size_t>(cpu::gemm_scratch_bytes));
  const isize m = 45, n = 96, k = 1100;  // several blocks of k
  grid<bf16> a(m, k), b(n, k);
  grid<float> whole(m, n);
  a.random(1), b.random(2), whole.random(3);
  grid<float> single = whole;
  gemm_epilogue<float> epilogue;
  epilogue.accumulate = true;
  const auto multiply = [&](grid<float>& out, isize row, isize rows) {
    cpu::detail::multiply_with_tiles(rows, n, k, gemm_operand<bf16>{&a.at(row, 0), k},
                                     gemm_operand<bf16>{b.data.data(), k, true}, &out.at(row, 0), n, epilogue,
                                     scratch.get());
  };
  multiply(whole, 0, m);
  for (isize row = 0; row < m; ++row) multiply(single, row, 1);
  CHECK(single.data == whole.data);
}

TEST_CASE("tiles are asked for proof before they are used") {
  if (!can_pack()) return;
  const auto scratch = std::make_unique<std::byte[]>(static_cast<std::size_t>(cpu::gemm_scratch_bytes));
  CHECK(cpu::detail::tiles_are_right(scratch.get()));
}

#else

TEST_CASE("tiles belong to x86") { CHECK(true); }

#endif

}  // namespace
}  // namespace motet
