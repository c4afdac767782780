// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>

namespace motet {

// The GFLOP/s of a text such as MOTET_PEAK has, in FLOP/s; 0 where it tells none.
inline double told_peak(const char* text) {
  const double told = text == nullptr ? 0 : 1e9 * std::strtod(text, nullptr);
  return told > 0 && told < 1e30 ? told : 0;
}

// The most that a machine does in a second, of which a step's share is told (MFU). Others may use the machine
// while it is measured, so the best counts of all that was measured, and of all that a step did.
class peak_rate {
 public:
  // A rate of 0 is not known.
  explicit peak_rate(double measured = 0) : best_(measured) {}

  double best() const { return best_; }
  // Then it was measured too low.
  bool is_beaten_by(double rate) const { return best_ > 0 && rate > best_; }
  void raise(double found) { best_ = std::max(best_, found); }
  // A share is from 0 to 1.
  double share(double rate) const { return best_ > 0 ? std::clamp(rate / best_, 0.0, 1.0) : 0; }

 private:
  double best_;
};

}  // namespace motet
