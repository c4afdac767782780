// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// What one thread of a device does in a second while all of its threads compute, by kinds of operations. 0:
// it was not measured.
struct operation_rates {
  double products = 0;   // FLOPs of products of matrices
  double attention = 0;  // FLOPs of attention, whose tiles are small and have a softmax between two products
  double elements = 0;   // bytes that operations on single elements move: norms, activations, updates
};

}  // namespace motet
