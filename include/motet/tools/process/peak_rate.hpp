// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace motet {

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
