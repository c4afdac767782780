// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/sequences.hpp>

#include <functional>
#include <vector>

namespace motet {

// The part of each step whose pictures a process reads, where several processes train by the same steps: of
// all other samples it reads the words alone. What stands for a damaged sample is known by reading it, so
// processes ask each other whether one of them found any, and then all of them make that step whole.
// Asks for: intervals that ascend and do not meet, and that all processes together read each picture that one
// of them looks at.
// Memory: two numbers for each interval.
// Errors: none of its own.
// Example:
//   bool reads_its_own() {
//     const step_part half{{{0, 4}}, [](bool here) { return here; }};
//     return half.has(3) && !half.has(4) && step_part{}.is_whole();
//   }
struct step_part {
  std::vector<interval> samples{};
  std::function<bool(bool here)>
      any{};  // all processes call it alike, once for each step; none: steps are whole

  bool is_whole() const { return !any; }
  bool has(isize sample) const {
    for (const interval& each : samples)
      if (sample >= each.begin && sample < each.end) return true;
    return is_whole();
  }
};

}  // namespace motet
