// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/each_kernel.hpp"

#include <motet/backend/cpu/kernels/simd.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using motet::bf16;
using count = motet::isize;

// One function for each instruction set; each works on `n` values.
#define VARIANT(NAME, TARGET)                                                   \
  namespace NAME##_probe {                                                      \
    namespace simd = motet::cpu::NAME;                                          \
    template <class T, class U>                                                 \
    TARGET void convert(const T* from, U* to, count n) {                        \
      constexpr count lanes = simd::vector_of<T>::lanes;                        \
      for (count i = 0; i < n; i += lanes) {                                    \
        if (n - i >= lanes) simd::store(to + i, simd::load(from + i));          \
        else simd::store_some(to + i, simd::load_some(from + i, n - i), n - i); \
      }                                                                         \
    }                                                                           \
    template <class T>                                                          \
    TARGET void arithmetic(const T* a, const T* b, T* to) {                     \
      constexpr count lanes = simd::vector_of<T>::lanes;                        \
      const auto x = simd::load(a), y = simd::load(b);                          \
      simd::store(to, simd::fma(x, y, simd::splat(T(1))));                      \
      simd::store(to + lanes, simd::maximum(x, y));                             \
      simd::store(to + 2 * lanes, simd::minimum(x, y));                         \
      to[3 * lanes] = simd::sum(x);                                             \
    }                                                                           \
  }

VARIANT(portable, )
#define IF_AVAILABLE(NAME, CALL)                                     \
  if (motet::cpu::kernel_available(motet::cpu::kernel_kind::NAME)) { \
    CALL(NAME)                                                       \
  }
#define EACH(CALL) CALL(portable) IN_AVX2(CALL) IN_AVX512(CALL)
#if MOTET_INSTRUCTION_SETS > 1
VARIANT(avx2, __attribute__((target("avx2,fma,f16c"))))
#define IN_AVX2(CALL) IF_AVAILABLE(avx2, CALL)
#else
#define IN_AVX2(CALL)
#endif
#if MOTET_INSTRUCTION_SETS > 2
VARIANT(avx512, __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))))
#define IN_AVX512(CALL) IF_AVAILABLE(avx512, CALL)
#else
#define IN_AVX512(CALL)
#endif

TEST_CASE("vectors round to bf16 as the scalar type does, for every kind of number") {
  std::vector<float> from;
  for (std::uint32_t high = 0; high < 0x10000u; high += 7)
    for (const std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      from.push_back(std::bit_cast<float>(high << 16 | low));
  const auto n = static_cast<count>(from.size());
  std::vector<bf16> to(from.size() + 1);
  std::vector<float> back(from.size() + 1);
#define CHECK_VARIANT(NAME)                                                                           \
  {                                                                                                   \
    to.assign(to.size(), bf16(-77.0f)), back.assign(back.size(), -77.0f);                             \
    NAME##_probe::convert(from.data(), to.data(), n);                                                 \
    NAME##_probe::convert(to.data(), back.data(), n);                                                 \
    count wrong = 0;                                                                                  \
    for (std::size_t i = 0; i < from.size(); ++i) {                                                   \
      wrong += to[i].bits != bf16(from[i]).bits;                                                      \
      wrong += std::bit_cast<std::uint32_t>(back[i]) != static_cast<std::uint32_t>(to[i].bits) << 16; \
    }                                                                                                 \
    CHECK(wrong == 0);                                                                                \
    CHECK(static_cast<float>(to.back()) == -77.0f);                                                   \
    CHECK(back.back() == -77.0f);                                                                     \
  }
  EACH(CHECK_VARIANT)
#undef CHECK_VARIANT
}

TEST_CASE("loads and stores of a part touch only that part") {
  for (count n = 0; n <= 40; ++n) {
    std::vector<float> from(static_cast<std::size_t>(n)), to(static_cast<std::size_t>(n) + 1, -77.0f);
    for (count i = 0; i < n; ++i) from[static_cast<std::size_t>(i)] = static_cast<float>(i) + 0.5f;
#define CHECK_VARIANT(NAME)                                      \
  {                                                              \
    to.assign(to.size(), -77.0f);                                \
    NAME##_probe::convert(from.data(), to.data(), n);            \
    CHECK(std::vector<float>(to.begin(), to.end() - 1) == from); \
    CHECK(to.back() == -77.0f);                                  \
  }
    EACH(CHECK_VARIANT)
#undef CHECK_VARIANT
  }
}

template <class T, class Probe>
void check_arithmetic(count lanes, const Probe& probe) {
  const motet::random_stream draw(5, "simd");
  std::vector<T> a(16), b(16), to(49);
  for (std::size_t i = 0; i < 16; ++i)
    a[i] = T(draw.uniform(i)) - T(0.5), b[i] = T(draw.uniform(i + 16)) - T(0.5);
  probe(a.data(), b.data(), to.data());
  T sum = 0;
  for (count i = 0; i < lanes; ++i) {
    const T x = a[static_cast<std::size_t>(i)], y = b[static_cast<std::size_t>(i)];
    sum += x;
    CHECK(to[static_cast<std::size_t>(i)] ==
          doctest::Approx(static_cast<double>(x) * static_cast<double>(y) + 1).epsilon(1e-7));
    CHECK(to[static_cast<std::size_t>(lanes + i)] == std::max(x, y));
    CHECK(to[static_cast<std::size_t>(2 * lanes + i)] == std::min(x, y));
  }
  CHECK(to[static_cast<std::size_t>(3 * lanes)] == doctest::Approx(static_cast<double>(sum)).epsilon(1e-5));
}

TEST_CASE("arithmetic of vectors is that of their lanes") {
#define CHECK_VARIANT(NAME)                                                                            \
  check_arithmetic<float>(motet::cpu::NAME::vector_of<float>::lanes, NAME##_probe::arithmetic<float>); \
  check_arithmetic<double>(motet::cpu::NAME::vector_of<double>::lanes, NAME##_probe::arithmetic<double>);
  EACH(CHECK_VARIANT)
#undef CHECK_VARIANT
}

count lanes_of_choice() {
  MOTET_SIMD_DISPATCH(return, vector_bytes);
  return 0;
}

TEST_CASE("dispatch goes to the namespace of the chosen kernel") {
  motet::laws::with_each_kernel([] {
    const auto kind = motet::cpu::current_kernel();
    CHECK(lanes_of_choice() == (kind == motet::cpu::kernel_kind::portable ? 16
                                : kind == motet::cpu::kernel_kind::avx2   ? 32
                                                                          : 64));
  });
}

}  // namespace
