// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/kernels/random_blocks.hpp>

#include "../../../../laws/each_kernel.hpp"

#include <vector>

// Sixteen blocks, by as many calls as they take.
#define VARIANT(NAME, TARGET)                                                                      \
  namespace motet::cpu::NAME {                                                                     \
  TARGET static void sixteen(const random_stream& draws, std::uint64_t first, std::uint32_t* to) { \
    constexpr std::uint64_t lanes = vector_bytes / 8;                                              \
    for (std::uint64_t b = 0; b < 16; b += lanes) random_blocks(draws, first + b, to + 4 * b);     \
  }                                                                                                \
  }
VARIANT(portable, )
#if MOTET_INSTRUCTION_SETS > 1
VARIANT(avx2, __attribute__((target("avx2,fma,f16c"))))
#endif
#if MOTET_INSTRUCTION_SETS > 2
VARIANT(avx512, __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

TEST_CASE("blocks of every set of kernels are those of the stream") {
  motet::laws::with_each_kernel([] {
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{12345}, (std::uint64_t{1} << 32) - 3, ~std::uint64_t{0} - 20}) {
      const motet::random_stream draws((std::uint64_t{5} << 33) + 9, "blocks");
      std::vector<std::uint32_t> found(64);
      MOTET_SIMD_DISPATCH(, sixteen(draws, first, found.data()));
      for (std::uint64_t b = 0; b < 16; ++b)
        for (std::size_t w = 0; w < 4; ++w) CHECK(found[4 * b + w] == draws.block(first + b)[w]);
    }
  });
}
