// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/uncertain.hpp>

#include <cmath>

namespace motet {

// Measured times say of the estimates of one model on one kind of device that they are all too small or too
// large by one factor, whose logarithm is normal about nothing, as wide as the estimate's bar says, until
// something was measured.
class measured_scale {
 public:
  // `noise`: relative deviation of one measured time.
  explicit measured_scale(double noise = 0.05) : noise_(noise) {}

  void learn(double estimated_seconds, double measured_seconds) {
    if (estimated_seconds <= 0 || measured_seconds <= 0) return;
    sum_ += std::log(measured_seconds / estimated_seconds);
    ++count_;
  }
  isize measured() const { return count_; }

  // The estimate with what was learnt; the same where nothing was, or where the estimate is sure.
  uncertain correct(const uncertain& of) const {
    const double prior = std::log1p(of.relative_bar());
    if (count_ == 0 || prior <= 0) return of;
    const double of_prior = 1 / (prior * prior), of_times = static_cast<double>(count_) / (noise_ * noise_),
                 mean = sum_ / (noise_ * noise_) / (of_prior + of_times),
                 deviation = std::sqrt(1 / (of_prior + of_times));
    const double value = of.value * std::exp(mean);
    return {value, value * std::expm1(deviation), provenance::corrected};
  }

 private:
  double noise_, sum_ = 0;
  isize count_ = 0;
};

}  // namespace motet
