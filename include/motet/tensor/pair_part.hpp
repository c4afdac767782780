// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/view.hpp>

#include <span>

namespace motet {

// A rank compares, when a loss over all pairs is spread over ranks, its own rows of one module with rows of
// another, all of them or some at a time. Those, the columns, lie in pieces, in any order of samples, and are
// numbered through all ranks.
template <class S>
struct pair_part {
  matrix<const S> rows;
  const isize* matches = nullptr;  // of each row the column of the same sample, which may be none of these
  std::span<const matrix<const S>> columns;
  isize samples = 0;  // of all columns
  isize first = 0;    // number of the first one here

  constexpr isize count() const {
    isize sum = 0;
    for (const auto& piece : columns) sum += piece.rows;
    return sum;
  }
};

}  // namespace motet
