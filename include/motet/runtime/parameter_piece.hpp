// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/optimizer.hpp>

#include <span>
#include <vector>

namespace motet {

// Neighbours in the flat buffer that a rank holds together: a stage, or the numbers of the loss. What does not learn has weights only.
template <class Master>
struct parameter_piece {
  index at = 0, size = 0;  // in the flat buffer
  Master *weights = nullptr, *gradients = nullptr, *first = nullptr, *second = nullptr;
  std::vector<parameter_run> runs;  // treated alike, counted from `at`
};

// The parameters in [at, at + size) of a flat buffer, counted from there.
inline std::vector<parameter> parameters_within(std::span<const parameter> all, index at, index size) {
  std::vector<parameter> own;
  for (parameter each : all) {
    if (each.offset < at || each.offset >= at + size) continue;
    each.offset -= at;
    own.push_back(std::move(each));
  }
  return own;
}

}  // namespace motet
