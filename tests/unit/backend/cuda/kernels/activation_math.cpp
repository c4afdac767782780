// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cuda/kernels/activation_math.hpp>
#include <motet/tensor/dtype.hpp>

#include "laws/activation_reference.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace motet {

TEST_CASE_TEMPLATE("activations of a number and their slopes", T, float, double) {
  const double close = sizeof(T) == 8 ? 1e-12 : 2e-6;
  for (const activation kind : {activation::none, activation::gelu, activation::gelu_tanh,
                                activation::quick_gelu, activation::relu, activation::silu}) {
    CAPTURE(static_cast<int>(kind));
    for (int i = -80; i <= 80; ++i) {
      const T x = static_cast<T>(i) / 8 + static_cast<T>(0.01);
      const double want = laws::activation_reference(kind, static_cast<double>(x));
      T value = 0;
      const double slope = static_cast<double>(cuda::derivative(kind, x, value));
      CHECK(std::abs(static_cast<double>(cuda::activate(kind, x)) - want) < close * (1 + std::abs(want)));
      CHECK(std::abs(static_cast<double>(value) - want) < close * (1 + std::abs(want)));
      CHECK(std::abs(slope - laws::slope_reference(kind, static_cast<double>(x))) <
            (sizeof(T) == 8 ? 1e-8 : 4e-6));
    }
    for (const T x : {static_cast<T>(-1e4), static_cast<T>(1e4)}) {
      T value = 0;
      CHECK(std::isfinite(cuda::activate(kind, x)));
      CHECK(std::isfinite(cuda::derivative(kind, x, value)));
    }
    CHECK(std::isnan(cuda::activate(kind, static_cast<T>(NAN))));
  }
}

TEST_CASE("GELU of a bf16 number is the truth rounded") {
  int others = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    bf16 x;
    x.bits = static_cast<std::uint16_t>(bits);
    const double want = laws::activation_reference(activation::gelu, static_cast<double>(x));
    if (!std::isfinite(want) || std::abs(want) < 1.2e-38) continue;
    others += bf16(cuda::activate(activation::gelu, static_cast<float>(x))).bits !=
              bf16(static_cast<float>(want)).bits;
  }
  CHECK(others == 0);
}

}  // namespace motet
