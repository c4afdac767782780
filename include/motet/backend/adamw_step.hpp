// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// The numbers of one update, the same for all elements of a run of parameters.
struct adamw_step {
  double rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;
  double clip_scale = 1;   // the gradient is multiplied by this first
  double correction1 = 1;  // 1 - beta1^t
  double correction2 = 1;  // 1 - beta2^t
};

}  // namespace motet
