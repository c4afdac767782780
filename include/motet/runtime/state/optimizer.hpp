// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/adamw_step.hpp>
#include <motet/nn/core/parameter.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace motet {

// AdamW (Loshchilov and Hutter, ICLR'19). Decay is decoupled, and only for parameters that ask for it: not
// for norms, biases and single numbers.
struct adamw_settings {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-6;
  double decay = 0.2;
  double clip = 1;  // largest norm of the whole gradient; 0 clips nothing
};

// Neighbours in the flat buffer that are treated alike.
struct parameter_run {
  index offset = 0;
  index size = 0;
  bool decay = false;
  double rate_share = 1, decay_share = 1;  // of the step's rate and decay
};

// Covers [0, trainable) by as few runs as the parameters' decay allows. Gaps between tensors are zero and
// stay zero, so they join a neighbour.
inline std::vector<parameter_run> decay_runs(std::span<const parameter> parameters, index trainable) {
  std::vector<parameter_run> runs;
  for (const parameter& each : parameters) {
    if (each.offset >= trainable) continue;
    const index end = std::min(each.offset + parameter_space(each.held()), trainable);
    if (!runs.empty() && runs.back().decay == each.decay &&
        runs.back().offset + runs.back().size == each.offset) {
      runs.back().size = end - runs.back().offset;
    } else {
      runs.push_back({each.offset, end - each.offset, each.decay});
    }
  }
  return runs;
}

// The settings of update number `update`, counted from 1. Step is the backend's own type with these fields.
template <class Step>
Step adamw_step_for(const adamw_settings& settings, index update, double rate, double scale, bool decay) {
  Step step;
  step.rate = rate;
  step.beta1 = settings.beta1;
  step.beta2 = settings.beta2;
  step.epsilon = settings.epsilon;
  step.decay = decay ? settings.decay : 0;
  step.clip_scale = scale;
  step.correction1 = 1 - std::pow(settings.beta1, static_cast<double>(update));
  step.correction2 = 1 - std::pow(settings.beta2, static_cast<double>(update));
  return step;
}

}  // namespace motet
