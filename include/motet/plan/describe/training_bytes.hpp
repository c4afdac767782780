// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// A training step keeps its numbers in so many bytes of each parameter or activation; unless told otherwise,
// these are the library's own.
struct training_bytes {
  double weight = 4;    // of a parameter, in every rank that holds it
  double gradient = 4;  // cut by zero 2
  double state = 8;     // of the optimizer, cut by zero 1
  // of a number between layers; 2 also means that products run at half_flops, 4 at single_flops
  double activation = 2;
  double feature = 4;  // of a number of a feature in a join
  double kept = 1;     // numbers that backward finds, for each that the layers of this library keep
  // the share of them that every rank of a tensor group keeps whole, as without sequence parallelism
  double uncut = 0;
  friend constexpr bool operator==(const training_bytes&, const training_bytes&) = default;
};

}  // namespace motet
