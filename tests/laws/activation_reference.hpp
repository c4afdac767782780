// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/operations.hpp>

#include <cmath>

namespace motet::laws {

// The activations by their definitions, in double, and their slopes by differences.
inline double activation_reference(activation kind, double x) {
  switch (kind) {
    case activation::none: return x;
    case activation::gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case activation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
    case activation::relu: return x > 0 ? x : 0;
    case activation::silu: return x / (1 + std::exp(-x));
  }
  return 0;
}

inline double slope_reference(activation kind, double x) {
  if (kind == activation::relu) return x > 0 ? 1 : 0;
  const double h = 1e-5;
  return (activation_reference(kind, x + h) - activation_reference(kind, x - h)) / (2 * h);
}

}  // namespace motet::laws
