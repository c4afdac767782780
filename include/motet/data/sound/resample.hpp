// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

namespace motet {

namespace detail {

// The sinc of so many zero crossings to either side, under a window of raised cosines, that lets frequencies
// below a rate's half pass.
class windowed_sinc {
 public:
  // `pass`: what passes, as a share of the rate of what is read.
  explicit windowed_sinc(double pass) : pass_(pass), reach_(crossings / pass) {}

  // Of the numbers at first, first + 1, ... how much each counts at `place`; they sum to 1, so that what is
  // constant stays.
  isize weigh(double place, std::vector<double>& weights) const {
    const auto first = static_cast<isize>(std::ceil(place - reach_)),
               last = static_cast<isize>(std::floor(place + reach_));
    weights.clear();
    double sum = 0;
    for (isize at = first; at <= last; ++at) {
      const double x = static_cast<double>(at) - place, angle = std::numbers::pi * x * pass_,
                   window = 0.5 + 0.5 * std::cos(std::numbers::pi * x / reach_);
      weights.push_back((std::abs(angle) < 1e-12 ? 1 : std::sin(angle) / angle) * window);
      sum += weights.back();
    }
    for (double& each : weights) each /= sum;
    return first;
  }

 private:
  static constexpr double crossings = 32;
  double pass_, reach_;
};

}  // namespace detail

// A sound at another rate, by a windowed sinc: what lies above half of the lower rate is taken away. Rates
// in whole numbers come back to the same phases, of which each is weighed once.
inline std::vector<float> resampled(std::span<const float> from, isize rate, isize wanted) {
  if (rate == wanted) return {from.begin(), from.end()};
  const isize common = std::gcd(rate, wanted), step = rate / common, phases = wanted / common;
  const auto given = static_cast<isize>(from.size()), count = (given * phases + step - 1) / step;
  const detail::windowed_sinc sinc(0.97 *
                                   std::min(1.0, static_cast<double>(wanted) / static_cast<double>(rate)));
  std::vector<float> out(as_size(count));
  std::vector<double> weights;
  for (isize phase = 0; phase < std::min(phases, count); ++phase) {
    // Number n of the result lies at n * step / phases.
    const isize whole = phase * step / phases;
    const double rest = static_cast<double>(phase * step % phases) / static_cast<double>(phases);
    const isize first = sinc.weigh(rest, weights), taps = static_cast<isize>(weights.size());
    isize start = whole + first;
    for (isize n = phase; n < count; n += phases, start += step) {
      const isize begin = std::max<isize>(0, -start), end = std::min(taps, given - start);
      double sum = 0;
      for (isize k = begin; k < end; ++k)
        sum += weights[as_size(k)] * static_cast<double>(from[as_size(start + k)]);
      out[as_size(n)] = static_cast<float>(sum);
    }
  }
  return out;
}

}  // namespace motet
