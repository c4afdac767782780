// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using motet::random_stream;

// The published test vectors of Philox 4x32-10 (Random123, kat_vectors): counter words, key words, result.
static_assert(random_stream(0, std::uint64_t{0}).block(0) ==
              random_stream::words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
static_assert(random_stream(~0ull, ~0ull).block(~0ull) ==
              random_stream::words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
static_assert(random_stream(0x299f31d0a4093822ull, 0x0370734413198a2eull).block(0x85a308d3243f6a88ull) ==
              random_stream::words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});

// FNV-1a, published values.
static_assert(random_stream::hash("") == 0xcbf29ce484222325ull);
static_assert(random_stream::hash("a") == 0xaf63dc4c8601ec8cull);
static_assert(random_stream::hash("foobar") == 0x85944171f73967e8ull);

TEST_CASE("a value depends on seed, name and position alone") {
  const random_stream a(1, "weights"), b(1, "weights"), other_seed(2, "weights"), other_name(1, "bias");
  for (std::uint64_t i = 100; i-- > 0;) CHECK_EQ(a.word(i), b.word(i));
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i)
    equal += (a.word(i) == other_seed.word(i)) + (a.word(i) == other_name.word(i));
  CHECK(equal <= 1);
}

TEST_CASE("uniform numbers fill the unit interval evenly") {
  const random_stream random(7, "uniform");
  constexpr int count = 200000, bins = 20;
  std::vector<int> histogram(bins);
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float u = random.uniform(i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += static_cast<double>(u);
    ++histogram[static_cast<std::size_t>(u * bins)];
  }
  // Five standard deviations.
  CHECK(std::abs(sum / count - 0.5) < 5 * 0.2887 / std::sqrt(count));
  double chi_squared = 0;
  for (const int n : histogram)
    chi_squared += (n - 1.0 * count / bins) * (n - 1.0 * count / bins) / (1.0 * count / bins);
  CHECK(chi_squared < 60);  // 19 degrees of freedom: exceeded once in 4 million
}

TEST_CASE("normal numbers have the moments of the normal distribution") {
  const random_stream random(7, "normal");
  constexpr int count = 200000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, neighbours = 0, before = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = random.normal(i);
    REQUIRE(std::isfinite(x));
    m1 += x / count;
    m2 += x * x / count;
    m3 += x * x * x / count;
    m4 += x * x * x * x / count;
    neighbours += x * before / count;
    before = x;
  }
  const double sigma = 1 / std::sqrt(count);
  CHECK(std::abs(m1) < 5 * sigma);
  CHECK(std::abs(m2 - 1) < 5 * 1.42 * sigma);
  CHECK(std::abs(m3) < 5 * 3.88 * sigma);
  CHECK(std::abs(m4 - 3) < 5 * 9.8 * sigma);
  CHECK(std::abs(neighbours) < 5 * sigma);
}

TEST_CASE("bounded numbers reach every value below the bound and none above") {
  const random_stream random(3, "below");
  for (const std::uint32_t bound : {1u, 2u, 3u, 7u, 48u}) {
    std::vector<int> seen(bound);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint32_t value = random.below(i, bound);
      REQUIRE(value < bound);
      ++seen[value];
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n > 0; }));
  }
}
