// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// A draw key says which random numbers a step draws.
struct draw_key {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  isize first_row = 0;  // global number of the batch's first row
  bool dropout = true;  // false while evaluating: nothing is dropped
};

}  // namespace motet
