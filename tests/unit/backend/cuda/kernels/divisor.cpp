// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cuda/kernels/divisor.hpp>

#include <doctest/doctest.h>
#include <motet/tensor/random.hpp>

namespace motet {

TEST_CASE("quotients and rests are those of a division") {
  const random_stream draw(1, "divisor");
  constexpr std::uint32_t last = 0x7fffffffu;
  std::uint64_t at = 0;
  bool right = true;
  const auto look = [&](std::uint32_t by) {
    const cuda::divisor d(by);
    const auto one = [&](std::uint32_t n) {
      std::uint32_t rest = n;
      right = right && d.quotient(n) == n / by && d.divide(rest) == n / by && rest == n % by;
    };
    for (const std::uint32_t n : {0u, 1u, by - 1, by, last, last - 1, last / by * by, last / by * by - 1})
      one(n & last);
    for (int i = 0; i < 50; ++i) one(draw.word(at++) & last);
    for (int i = 0; i < 50; ++i) one((draw.word(at++) & last) / by * by);
  };
  for (std::uint32_t by = 1; by < 3000; ++by) look(by);
  for (int shift = 0; shift < 31; ++shift)
    for (int off = -1; off <= 1; ++off)
      if (const std::int64_t by = (std::int64_t{1} << shift) + off; by >= 1)
        look(static_cast<std::uint32_t>(by));
  for (int i = 0; i < 3000; ++i)
    look(((draw.word(at++) & last) >> (i % 31)) + 1 > last ? last
                                                           : ((draw.word(at) & last) >> (i % 31)) | 1u);
  look(last);
  CHECK(right);
}

}  // namespace motet
