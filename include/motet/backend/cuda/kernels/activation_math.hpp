// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cuda {

// Activations of one number, float or double, for kernels. A kernel with the kind as a template argument
// compiles one of them only.

namespace detail {

// 2^x for x <= 0, and 1 / x for x >= 1: one instruction of the special function unit each, wrong by 2 units
// in the last place at most. What would be denormal is 0.
inline MOTET_HOST_DEVICE float exp2_of_negative(float x) {
#if defined(__CUDA_ARCH__)
  float made;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(made) : "f"(x));
  return made;
#else
  return std::exp2(x);
#endif
}
inline MOTET_HOST_DEVICE float reciprocal_from_one(float x) {
#if defined(__CUDA_ARCH__)
  float made;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(made) : "f"(x));
  return made;
#else
  return 1 / x;
#endif
}
// 1 / (1 + e^-x), from e^-|x|, which cannot overflow; a NaN stays.
template <class T>
MOTET_HOST_DEVICE T sigmoid(T x) {
  if constexpr (std::is_same_v<T, float>) {
    const float e = exp2_of_negative(-1.44269504088896340736f * std::fabs(x));
    return (x < 0 ? e : 1.0f) * reciprocal_from_one(1.0f + e);
  } else {
    const T e = std::exp(-std::fabs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
  }
}

// The normal distribution at -|x|, which is all that GELU takes of it on either side of 0, and its density at
// x. Of floats, as Hastings (1955) did it: the density times a polynomial of t = 1 / (1 + 0.35 |x|), here
// fitted to a relative error of 6e-7 for |x| up to 10. GELU is then off by 1e-7, or as much as rounding x;
// below 0, where erf would cancel, by 6e-6 of itself. Of bf16 it is the truth rounded, wherever that is no
// denormal number.
template <class T>
struct normal_tail {
  T below, density;
  MOTET_HOST_DEVICE explicit normal_tail(T x) {
    if constexpr (std::is_same_v<T, float>) {
      const float t = reciprocal_from_one(1.0f + 0.35f * std::fabs(x)),
                  e = exp2_of_negative(x * x * -0.72134752044448170368f);
      below = t * e * polynomial(t);
      density = 0.39894228040143267794f * e;
    } else {
      below = T(0.5) * std::erfc(std::fabs(x) * T(0.70710678118654752440));
      density = T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);
    }
  }

 private:
  MOTET_HOST_DEVICE static float polynomial(float t) {
    float sum = 0.0456640863495f;
    sum = sum * t - 0.189047791899f;
    sum = sum * t + 0.219114336231f;
    sum = sum * t + 0.00190753426197f;
    sum = sum * t + 0.14638101856f;
    sum = sum * t + 0.136140833775f;
    return sum * t + 0.139839689863f;
  }
};

}  // namespace detail

template <class T>
MOTET_HOST_DEVICE T activate(activation kind, T x) {
  switch (kind) {
    case activation::none: break;
    // Below 0 it is x times the tail, above 0 what that leaves of x, so nothing cancels.
    case activation::gelu: return std::fmax(x, T(0)) - std::fabs(x) * detail::normal_tail<T>(x).below;
    // (1 + tanh u) / 2 is the sigmoid of 2 u.
    case activation::gelu_tanh:
      return x * detail::sigmoid(T(2 * 0.79788456080286535588) * (x + T(0.044715) * x * x * x));
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
      const detail::normal_tail<T> tail(x);
      value = std::fmax(x, T(0)) - std::fabs(x) * tail.below;
      return x * tail.density + (x < T(0) ? tail.below : T(1) - tail.below);
    }
    case activation::gelu_tanh: {
      const T square = x * x,
              s = detail::sigmoid(T(2 * 0.79788456080286535588) * (x + T(0.044715) * square * x));
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
