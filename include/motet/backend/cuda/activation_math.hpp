// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/nn/operations.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cuda {

// Activations of one number, float or double, for kernels. A kernel with the kind as a template argument compiles one of them only.

namespace detail {
// e^x for x <= 0: where it matters, the special function unit is as good as the float that it ends in.
template <class T>
MOTET_HOST_DEVICE T exp_of_negative(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return __expf(x);
#endif
  return std::exp(x);
}
// 1 / (1 + e^-x), from e^-|x|, which cannot overflow; a NaN stays.
template <class T>
MOTET_HOST_DEVICE T sigmoid(T x) {
  const T e = exp_of_negative(x < T(0) ? x : -x);
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return __fdividef(x < 0 ? e : 1.0f, 1.0f + e);
#endif
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
}  // namespace detail

template <class T>
MOTET_HOST_DEVICE T activate(activation kind, T x) {
  switch (kind) {
    case activation::none: break;
    case activation::gelu: return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
    // (1 + tanh u) / 2 is the sigmoid of 2 u.
    case activation::gelu_tanh: return x * detail::sigmoid(T(2 * 0.79788456080286535588) * (x + T(0.044715) * x * x * x));
    case activation::quick_gelu: return x * detail::sigmoid(T(1.702) * x);
    case activation::relu: return x > T(0) ? x : T(0) * x;  // a NaN stays
    case activation::silu: return x * detail::sigmoid(x);
  }
  return x;
}

// d activation(x) / dx, and activation(x) itself, which shares most of the work.
template <class T>
MOTET_HOST_DEVICE T derivative(activation kind, T x, T& value) {
  switch (kind) {
    case activation::none: break;
    case activation::gelu: {
      const T below = T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
      value = x * below;
      return x * T(0.39894228040143267794) * detail::exp_of_negative(T(-0.5) * x * x) + below;
    }
    case activation::gelu_tanh: {
      const T square = x * x, s = detail::sigmoid(T(2 * 0.79788456080286535588) * (x + T(0.044715) * square * x));
      value = x * s;
      return T(2 * 0.79788456080286535588) * x * s * (T(1) - s) * (T(1) + T(3 * 0.044715) * square) + s;
    }
    case activation::quick_gelu:
    case activation::silu: {
      const T scale = kind == activation::silu ? T(1) : T(1.702), s = detail::sigmoid(scale * x);
      value = x * s;
      return s * (T(1) + scale * x * (T(1) - s));
    }
    case activation::relu: value = x > T(0) ? x : T(0) * x; return x > T(0) ? T(1) : T(0);
  }
  value = x;
  return T(1);
}

}  // namespace motet::cuda
