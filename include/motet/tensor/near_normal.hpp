// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/random.hpp>

namespace motet {

// A near normal is what random_stream::normal() makes of its two words, by a fixed row of multiplications and
// additions: the library's logarithm and cosine take most of the time of a draw, and differ from machine to
// machine in their last bits. `doubt` bounds the distance from normal(): its own errors come to less than
// radius * 2^-49.6 (the angle 2 pi v is rounded to 2^-51 and 2 pi itself is off by 2^-52, three more
// operations round), ours to less than radius * 2^-50, whether or not a processor fuses a product with a sum.
struct near_normal {
  double value = 0, doubt = 0;

  // Says whether one float is nearest to all that lie within the doubt; then normal() is stored as that
  // float, too. Of a million draws about one is not, and asks random_stream::normal() itself.
  MOTET_HOST_DEVICE bool certain() const {
    return __builtin_bit_cast(std::uint32_t, static_cast<float>(value - doubt)) ==
           __builtin_bit_cast(std::uint32_t, static_cast<float>(value + doubt));
  }
};

// Terms of the polynomials: of the logarithm in s = f / (2 + f) and of the cosine and sine up to an eighth of
// a turn, as in FreeBSD's msun.
namespace normal_terms {
inline constexpr double log_1 = 6.666666666666735130e-01, log_2 = 3.999999999940941908e-01,
                        log_3 = 2.857142874366239149e-01, log_4 = 2.222219843214978396e-01,
                        log_5 = 1.818357216161805012e-01, log_6 = 1.531383769920937332e-01,
                        log_7 = 1.479819860511658591e-01;
// the logarithm of two
inline constexpr double two_high = 6.93147180369123816490e-01, two_low = 1.90821492927058770002e-10;
inline constexpr double cos_1 = 4.16666666666666019037e-02, cos_2 = -1.38888888888741095749e-03,
                        cos_3 = 2.48015872894767294178e-05, cos_4 = -2.75573143513906633035e-07,
                        cos_5 = 2.08757232129817482790e-09, cos_6 = -1.13596475577881948265e-11;
inline constexpr double sin_1 = -1.66666666666666324348e-01, sin_2 = 8.33333333332248946124e-03,
                        sin_3 = -1.98412698298579493134e-04, sin_4 = 2.75573137070700676789e-06,
                        sin_5 = -2.50507602534068634195e-08, sin_6 = 1.58969099521155010221e-10;
// of one step of a word
inline constexpr double turn = 6.283185307179586476925 * 0x1p-32;
// the least keeps 0 and -0 apart
inline constexpr double doubt = 0x1p-48, least_doubt = 1e-300;
// bits; the first is rounded down
inline constexpr std::uint64_t root_of_half = 0x3fe6a09e00000000, one = 0x3ff0000000000000;
}  // namespace normal_terms

MOTET_HOST_DEVICE inline near_normal normal_near(std::uint32_t a, std::uint32_t b) {
  namespace t = normal_terms;
  // log((a + 1) / 2^32), the number cut into 2^power * (1 + f) between the root of a half and the root of
  // two.
  const auto bits =
      __builtin_bit_cast(std::uint64_t, static_cast<double>(a) + 1.0) + (t::one - t::root_of_half);
  const double power = static_cast<double>(static_cast<std::int32_t>(bits >> 52) - 1023 - 32);
  const double f = __builtin_bit_cast(double, (bits & 0x000fffffffffffff) + t::root_of_half) - 1.0;
  const double s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
  const double even = w * (t::log_2 + w * (t::log_4 + w * t::log_6)),
               odd = z * (t::log_1 + w * (t::log_3 + w * (t::log_5 + w * t::log_7)));
  const double log = power * t::two_high - ((half - (s * (half + (even + odd)) + power * t::two_low)) - f);
  const double radius = std::sqrt(-2.0 * log);
  // The angle from the nearest quarter turn on.
  const std::uint64_t from = std::uint64_t{b} + (1u << 29);
  const double x = (static_cast<double>(static_cast<std::uint32_t>(from) & 0x3fffffffu) - 0x1p29) * t::turn,
               xx = x * x;
  const bool is_sine = ((from >> 30) & 1) != 0, negative = (((from >> 30) + 1) & 2) != 0;
  const double cosine =
      1.0 - (0.5 * xx -
             xx * xx *
                 (t::cos_1 +
                  xx * (t::cos_2 + xx * (t::cos_3 + xx * (t::cos_4 + xx * (t::cos_5 + xx * t::cos_6))))));
  const double sine =
      x +
      x * xx *
          (t::sin_1 + xx * (t::sin_2 + xx * (t::sin_3 + xx * (t::sin_4 + xx * (t::sin_5 + xx * t::sin_6)))));
  const double found = radius * (is_sine ? sine : cosine);
  return {negative ? -found : found, radius * t::doubt + t::least_doubt};
}

}  // namespace motet
