// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cmath>

namespace motet {

// The numbers of one update, the same for all elements of a run of parameters. An optimizer reads those that
// it has a use for.
struct update_step {
  double rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;
  double clip_scale = 1;   // the gradient is multiplied by this first
  double correction1 = 1;  // 1 - beta1^t
  double correction2 = 1;  // 1 - beta2^t
  double momentum = 0.95;  // of matrices that Muon moves
};

// Every gradient is multiplied by this, so that the whole gradient has at most the norm `clip`.
MOTET_HOST_DEVICE inline double clip_scale(double norm, double clip) {
  return clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1;
}

// The sums of a step that its update looks at: where one of them is not finite, nothing is updated; else the
// norm of the gradient decides about clipping.
struct update_sums {
  double loss = 0;
  double squares = 0;  // of the gradient
  double clip = 0;     // largest norm of the gradient; 0 clips nothing
  MOTET_HOST_DEVICE bool allow() const { return loss - loss == 0 && squares - squares == 0; }
  MOTET_HOST_DEVICE double norm() const { return std::sqrt(squares); }
  MOTET_HOST_DEVICE double scale() const { return clip_scale(norm(), clip); }
};

}  // namespace motet
