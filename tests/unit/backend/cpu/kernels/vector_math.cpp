// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/each_kernel.hpp"

#include <motet/backend/cpu/kernels/vector_math.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using motet::activation;
using count = motet::isize;

enum class function { exp, tanh, erf, sigmoid };

#define VARIANT(NAME, TARGET)                                    \
  namespace NAME##_probe {                                       \
    template <class T>                                           \
    TARGET void apply(function which, T* x, count n) {           \
      namespace simd = motet::cpu::NAME;                         \
      for (count i = 0; i < n; i += simd::vector_of<T>::lanes) { \
        auto v = simd::load_some(x + i, n - i);                  \
        switch (which) {                                         \
          case function::exp: v = simd::exp(v); break;           \
          case function::tanh: v = simd::tanh(v); break;         \
          case function::erf: v = simd::erf(v); break;           \
          case function::sigmoid: v = simd::sigmoid(v); break;   \
        }                                                        \
        simd::store_some(x + i, v, n - i);                       \
      }                                                          \
    }                                                            \
  }
VARIANT(portable, )
#if MOTET_INSTRUCTION_SETS > 1
VARIANT(avx2, __attribute__((target("avx2,fma,f16c"))))
#endif
#if MOTET_INSTRUCTION_SETS > 2
VARIANT(avx512, __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

template <class T>
std::vector<T> apply(function which, std::vector<T> x) {
  const auto n = static_cast<count>(x.size());
  switch (motet::cpu::current_kernel()) {
#if MOTET_INSTRUCTION_SETS > 2
    case motet::cpu::kernel_kind::avx512_bf16:
    case motet::cpu::kernel_kind::avx512: avx512_probe::apply(which, x.data(), n); break;
#endif
#if MOTET_INSTRUCTION_SETS > 1
    case motet::cpu::kernel_kind::avx2: avx2_probe::apply(which, x.data(), n); break;
#endif
    default: portable_probe::apply(which, x.data(), n);
  }
  return x;
}

double exact(function which, double x) {
  switch (which) {
    case function::exp: return std::exp(x);
    case function::tanh: return std::tanh(x);
    case function::erf: return std::erf(x);
    case function::sigmoid: return 1 / (1 + std::exp(-x));
  }
  return 0;
}

// Largest error relative to the value, over arguments spread evenly in [-range, range] and evenly in the
// exponent near zero.
double worst(function which, double range) {
  std::vector<float> x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(range * i / 20000));
  for (double tiny = 1e-30; tiny < 1; tiny *= 1.7)
    x.push_back(static_cast<float>(tiny)), x.push_back(static_cast<float>(-tiny));
  const auto y = apply(which, x);
  double found = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = exact(which, static_cast<double>(x[i]));
    const double off = want == 0 ? std::abs(static_cast<double>(y[i]))
                                 : std::abs(static_cast<double>(y[i]) - want) / std::abs(want);
    found = off <= found ? found : off;
    if (std::isnan(y[i])) return INFINITY;
  }
  return found;
}

TEST_CASE("exp, tanh, erf and sigmoid are right to the last bits in fp32") {
  motet::laws::with_each_kernel([] {
    CHECK(worst(function::exp, 87) < 2.0e-7);
    CHECK(worst(function::tanh, 12) < 2.5e-7);
    CHECK(worst(function::erf, 6) < 2.0e-7);
    CHECK(worst(function::sigmoid, 80) < 2.5e-7);
  });
}

TEST_CASE("the ends of the range: overflow, underflow, infinities and NaN") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  motet::laws::with_each_kernel([&] {
    const auto e = apply(function::exp, std::vector<float>{-inf, -200, -88, 0, 88.7f, 89, 1e30f, inf, nan});
    CHECK(e[0] == 0);
    CHECK(e[1] == 0);
    CHECK(e[2] == 0);
    CHECK(e[3] == 1);
    CHECK(e[4] == doctest::Approx(std::exp(88.7)).epsilon(1e-5));
    CHECK(e[5] == inf);
    CHECK(e[6] == inf);
    CHECK(e[7] == inf);
    CHECK(std::isnan(e[8]));
    for (const function which : {function::tanh, function::erf}) {
      const auto t = apply(which, std::vector<float>{-inf, -1e30f, -20, -0.0f, 20, 1e30f, inf, nan});
      for (const std::size_t i : {0u, 1u, 2u}) CHECK(t[i] == -1);
      CHECK(t[3] == 0);
      for (const std::size_t i : {4u, 5u, 6u}) CHECK(t[i] == 1);
      CHECK(std::isnan(t[7]));
    }
    const auto s = apply(function::sigmoid, std::vector<float>{-inf, -200, 0, 200, inf, nan});
    CHECK(s[0] < 1e-37f);  // no denormals
    CHECK(s[1] < 1e-37f);
    CHECK(s[2] == 0.5f);
    CHECK(s[3] == 1);
    CHECK(s[4] == 1);
    CHECK(std::isnan(s[5]));
  });
}

TEST_CASE("in fp64 the functions are those of the standard library") {
  motet::laws::with_each_kernel([] {
    for (const function which : {function::exp, function::tanh, function::erf, function::sigmoid}) {
      std::vector<double> x;
      for (int i = -50; i <= 51; ++i) x.push_back(0.17 * i);
      const auto y = apply(which, x);
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == exact(which, x[i]));
    }
  });
}

template <class T, class Pre>
void check_activations(double tolerance) {
  for (const activation kind : {activation::none, activation::gelu, activation::gelu_tanh,
                                activation::quick_gelu, activation::relu, activation::silu}) {
    CAPTURE(static_cast<int>(kind));
    for (const count n : {0, 1, 5, 16, 37, 500}) {
      std::vector<T> values(static_cast<std::size_t>(n)), gradient(values.size(), T(0.75));
      std::vector<Pre> pre(values.size()), replayed(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        pre[i] = Pre(static_cast<float>(8.3 * std::sin(1.0 + 0.37 * static_cast<double>(i))));
        values[i] = static_cast<T>(pre[i]);
      }
      const auto x = values;
      auto both = pre;
      auto again = gradient;
      MOTET_SIMD_DISPATCH(, activate_values(kind, values.data(), n));
      MOTET_SIMD_DISPATCH(, derive_values(kind, gradient.data(), pre.data(), replayed.data(), n));
      MOTET_SIMD_DISPATCH(, derive_values(kind, again.data(), both.data(), both.data(), n));
      double off = 0, off_slope = 0, off_replayed = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double at = static_cast<double>(x[i]), want = motet::laws::activation_reference(kind, at);
        off = std::max(off, std::abs(static_cast<double>(values[i]) - want));
        off_slope = std::max(off_slope, std::abs(static_cast<double>(gradient[i]) -
                                                 0.75 * motet::laws::slope_reference(kind, at)));
        off_replayed =
            std::max(off_replayed, std::abs(static_cast<double>(replayed[i]) - want) / (1 + std::abs(want)));
        CHECK(static_cast<double>(both[i]) == static_cast<double>(replayed[i]));
        CHECK(again[i] == gradient[i]);
      }
      CHECK(off < tolerance);
      CHECK(off_slope < std::max(tolerance, 1e-8));  // the reference takes differences
      CHECK(off_replayed < (sizeof(Pre) == 2 ? 0x1p-8 : tolerance));
    }
  }
}

TEST_CASE("activations and their slopes, replayed in place or beside") {
  motet::laws::with_each_kernel([] {
    check_activations<float, float>(2e-6);
    check_activations<float, motet::bf16>(2e-6);
    check_activations<double, double>(1e-13);
  });
}

TEST_CASE("a NaN stays a NaN through every activation") {
  motet::laws::with_each_kernel([] {
    for (const activation kind : {activation::none, activation::gelu, activation::gelu_tanh,
                                  activation::quick_gelu, activation::relu, activation::silu}) {
      float value = std::numeric_limits<float>::quiet_NaN();
      MOTET_SIMD_DISPATCH(, activate_values(kind, &value, 1));
      CHECK(std::isnan(value));
    }
  });
}

}  // namespace
