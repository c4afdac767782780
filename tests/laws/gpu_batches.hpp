// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/sequences.hpp>

#include <vector>

namespace motet::laws {

// Batches that operations on rows must all handle: none, one row, even, ragged with samples that have no
// rows.
template <class Body>
void each_gpu_batch(Body&& body) {
  for (const sequences& even : {sequences{0, 5, nullptr}, sequences{1, 1, nullptr}, sequences{5, 4, nullptr}})
    body(even);
  const std::vector<std::vector<isize>> ragged{{0, 0, 7}, {0, 1, 2, 3, 9, 14, 14, 14, 20, 23}};
  for (const auto& offsets : ragged)
    body(sequences{static_cast<isize>(offsets.size()) - 1, 1, offsets.data()});
}

}  // namespace motet::laws
