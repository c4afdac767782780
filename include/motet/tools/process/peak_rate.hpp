// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/messages.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace motet {

// The GFLOP/s of a text such as MOTET_PEAK has, in FLOP/s; 0 where there is none.
inline double told_peak(const char* text) {
  const std::string_view told = text == nullptr ? "" : text;
  if (told.empty()) return 0;
  double peak = 0;
  const auto [end, failed] = std::from_chars(told.data(), told.data() + told.size(), peak);
  if (failed != std::errc{} || end != told.data() + told.size() || !(peak > 0 && peak < 1e15))
    fail(bad_environment,
         "MOTET_PEAK wants GFLOP/s, above 0 and below 1e15, got \"" + std::string(told) + "\"");
  return 1e9 * peak;
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
