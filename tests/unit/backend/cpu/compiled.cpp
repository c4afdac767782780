// SPDX-License-Identifier: Apache-2.0
// Linked with motet::compiled: what a file is told is elsewhere must be there, under every number type, and
// give what the headers alone give.
#include "../../../laws/cpu_run.hpp"
#include "../../../laws/each_kernel.hpp"

#include <motet/backend/cpu/compiled.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#if !defined(MOTET_COMPILED_KERNELS)
#error "this test is of the compiled kernels"
#endif

namespace motet {
namespace {

template <class T>
std::vector<T> numbers(isize count, std::string_view name) {
  const random_stream from(5, name);
  std::vector<T> out;
  for (isize i = 0; i < count; ++i)
    out.push_back(T(static_cast<float>(from.normal(static_cast<std::uint64_t>(i)))));
  return out;
}

template <class Compute, class A, class B, class Out>
void check_product(double bound) {
  using sum = std::conditional_t<std::is_same_v<Compute, double>, double, float>;
  constexpr isize m = 19, n = 35, k = 70;
  const std::vector<A> a = numbers<A>(m * k, "a");
  const std::vector<B> b = numbers<B>(k * n, "b");
  std::vector<Out> out(m * n, Out(9));
  alignas(64) static std::byte scratch[cpu::gemm_scratch_bytes];
  cpu::gemm_epilogue<sum, Out, Out> plain;
  cpu::gemm<Compute>(m, n, k, cpu::gemm_operand<A>{a.data(), k}, cpu::gemm_operand<B>{b.data(), n},
                     out.data(), n, plain, scratch);
  for (isize i = 0; i < m; ++i) {
    for (isize j = 0; j < n; ++j) {
      double want = 0;
      for (isize l = 0; l < k; ++l)
        want += static_cast<double>(a.data()[i * k + l]) * static_cast<double>(b.data()[l * n + j]);
      CHECK(std::abs(static_cast<double>(out.data()[i * n + j]) - want) <= bound * (1 + std::abs(want)));
    }
  }
}

template <class T>
void check_tiles() {
  constexpr isize m = 7, n = 64, k = 5;
  const std::vector<T> a = numbers<T>(m * k, "a"), b = numbers<T>(k * n, "b");
  std::vector<T> c(m * n, T(1));
  cpu::tiles::multiply(m, n, k, a.data(), k, isize{1}, b.data(), n, c.data(), n, true);
  for (isize i = 0; i < m; ++i) {
    for (isize j = 0; j < n; ++j) {
      double want = 1;
      for (isize l = 0; l < k; ++l)
        want += static_cast<double>(a.data()[i * k + l]) * static_cast<double>(b.data()[l * n + j]);
      CHECK(static_cast<double>(c.data()[i * n + j]) == doctest::Approx(want).epsilon(1e-5));
    }
  }
}

TEST_CASE("products of every number type") {
  laws::with_each_kernel([] {
    check_product<float, float, float, float>(1e-4);
    check_product<double, double, double, double>(1e-12);
    check_product<bf16, bf16, float, bf16>(0.1);
    check_product<bf16, float, float, bf16>(0.1);
    check_product<bf16, bf16, bf16, float>(0.1);
  });
}

TEST_CASE("tiles") {
  laws::with_each_kernel([] {
    check_tiles<float>();
    check_tiles<double>();
  });
}

TEST_CASE("norms") {
  laws::with_each_kernel([] {
    std::vector<double> x = numbers<double>(3 * 24, "x"), y(3 * 24), stats(3 * 2);
    const std::vector<double> gain(24, 1.0);
    const sequences seq{3, 1, nullptr};
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      cpu::norm_forward(ctx, seq, norm_kind::layer, matrix<double>{x.data(), 3, 24, 24}, gain.data(), nullptr,
                        0.0, matrix<double>{y.data(), 3, 24, 24}, matrix<double>{stats.data(), 3, 2, 2});
    });
    for (isize r = 0; r < 3; ++r) {
      const double* const line = y.data() + r * 24;
      double mean = 0, square = 0;
      for (isize j = 0; j < 24; ++j) mean += line[j] / 24, square += line[j] * line[j] / 24;
      CHECK(mean == doctest::Approx(0));
      CHECK(square == doctest::Approx(1));
    }
  });
}

// Rows of Y with sums of T: each number is alone, so that one row says what all must be.
template <class T, class Y>
void check_rows(double bound) {
  const std::vector<Y> x = numbers<Y>(2 * 16, "x");
  std::vector<Y> y(16), pre(16);
  std::vector<T> dy(16, T(1)), loss(1), feature(16), length(1);
  const sequences one{1, 1, nullptr};
  const std::int32_t target = 3;
  const auto sigmoid = [](double of) { return 1 / (1 + std::exp(-of)); };
  const auto row = [](auto& of, isize width) {
    return matrix<typename std::remove_reference_t<decltype(of)>::value_type>{of.data(), 1, width, width};
  };
  std::vector<Y> in = x;
  std::vector<T> logits(16);
  for (std::size_t i = 0; i < 16; ++i) logits[i] = static_cast<T>(static_cast<double>(x[i]));
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    cpu::swiglu_forward(ctx, one, row(in, 32), row(y, 16));
    cpu::activation_backward(ctx, one, activation::relu, row(in, 16), row(dy, 16), row(pre, 16));
    cpu::token_losses(ctx, one, row(logits, 16), &target, z_loss{}, row(loss, 1));
    cpu::normalize_forward(ctx, one, row(logits, 16), row(feature, 16), row(length, 1));
  });
  double sum = 0, square = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const double gate = static_cast<double>(x[i]), up = static_cast<double>(x[16 + i]);
    CHECK(static_cast<double>(y[i]) == doctest::Approx(gate * sigmoid(gate) * up).epsilon(bound));
    CHECK(static_cast<double>(pre[i]) == (gate > 0 ? 1 : 0));
    sum += std::exp(gate), square += gate * gate;
  }
  CHECK(static_cast<double>(loss[0]) == doctest::Approx(std::log(sum) - static_cast<double>(x[3])));
  CHECK(static_cast<double>(length[0]) == doctest::Approx(std::sqrt(square)));
}

TEST_CASE("rows and losses of every number type") {
  laws::with_each_kernel([] {
    check_rows<float, float>(1e-5);
    check_rows<double, double>(1e-10);
    check_rows<float, bf16>(0.02);
  });
}

}  // namespace
}  // namespace motet
