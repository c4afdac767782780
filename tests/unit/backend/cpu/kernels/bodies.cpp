// SPDX-License-Identifier: Apache-2.0
// Linked with motet::compiled: a file reads no kernel and no intrinsic, and still calls every kernel for
// float and bf16 in any mixture, and for double.
#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/backend/cpu/operations.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#if MOTET_KERNEL_BODIES
#error "this test is of kernels that another file has"
#endif
#if defined(_IMMINTRIN_H_INCLUDED) || defined(__IMMINTRIN_H)
#error "intrinsics are read"
#endif

namespace motet {
namespace {

// Calls run<T...>() for each mixture of so many numbers, and for as many doubles.
template <int Count, class... T, class Run>
void for_mixtures(const Run& run) {
  if constexpr (sizeof...(T) == Count) {
    run.template operator()<T...>();
  } else {
    for_mixtures<Count, T..., float>(run);
    for_mixtures<Count, T..., bf16>(run);
  }
}
template <int Count, class... T, class Run>
void for_doubles(const Run& run) {
  if constexpr (sizeof...(T) == Count) run.template operator()<T...>();
  else for_doubles<Count, T..., double>(run);
}
template <int Count, class Run>
void for_numbers(const Run& run) {
  for_mixtures<Count>(run);
  for_doubles<Count>(run);
}

// Small whole numbers, which bf16 has as well.
template <class T>
struct rows {
  std::vector<T> data;
  explicit rows(int first) {
    for (int i = 0; i < 3 * 21; ++i) data.push_back(T(static_cast<float>(first + i % 9)));
  }
  matrix<T> all() { return {data.data(), 3, 21, 21}; }
};

TEST_CASE("numbers are converted and added up") {
  for_numbers<2>([]<class X, class Y>() {
    rows<X> x(1);
    rows<Y> y(0);
    cpu::convert_rows(x.all(), y.all(), 2);
    for (std::size_t i = 0; i < x.data.size(); ++i)
      CHECK(static_cast<double>(y.data[i]) == 2 * static_cast<double>(x.data[i]));
  });
  for_numbers<3>([]<class A, class B, class Y>() {
    rows<A> a(1);
    rows<B> b(-3);
    rows<Y> y(0);
    cpu::sum_rows(a.all(), b.all(), y.all());
    for (std::size_t i = 0; i < a.data.size(); ++i)
      CHECK(static_cast<double>(y.data[i]) ==
            static_cast<double>(a.data[i]) + static_cast<double>(b.data[i]));
  });
}

// On no rows: that the linker finds them is what is asked.
TEST_CASE("kernels of every mixture are there") {
  for_numbers<2>([]<class X, class Y>() {
    using weight = arithmetic<X, Y>;
    const weight* const none = nullptr;
    cpu::activation_kernel<X, Y>::run(activation::gelu, {}, {});
    cpu::swiglu_kernel<X, Y>::run({}, {});
    cpu::norm_kernel<weight, weight, X, Y>::run(true, {}, none, none, 0, {}, {});
    cpu::norm_kernel<weight, weight, X, Y>::again({}, none, none, {}, {});
    cpu::norm_columns_kernel<weight, weight, X, Y>::run({}, {}, {}, nullptr, nullptr);
    cpu::normalize_kernel<weight, X, Y>::run({}, {}, {});
    cpu::dropout_kernel<X, Y>::run(random_stream(1, "none"), 0, 0, 1, {}, {});
    CHECK(cpu::row_product_kernel<weight, X, Y>::run(nullptr, nullptr, 0) == 0);
  });
  for_numbers<3>([]<class X, class Dy, class Dx>() {
    using weight = arithmetic<X, Dy, Dx>;
    cpu::activation_backward_kernel<X, Dy, Dx>::run(activation::gelu, {}, {}, {});
    cpu::swiglu_backward_kernel<X, Dy, Dx>::run({}, {}, {});
    cpu::normalize_backward_kernel<weight, X, Dy, Dx>::run({}, {}, {}, {});
    cpu::detail::combine_kernel<weight, X, Dy, Dx>::run(nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
  for_numbers<4>([]<class X, class Dy, class R, class Dx>() {
    using weight = arithmetic<X, Dy, R, Dx>;
    cpu::norm_backward_kernel<weight, weight, X, Dy, R, Dx>::run(true, {}, nullptr, {}, {}, {}, {});
    cpu::gated_sum_kernel<X, Dy, R, Dx>::run({}, {}, nullptr, {});
    cpu::gated_sum_backward_kernel<X, Dy, R, Dx>::run({}, nullptr, {}, {}, nullptr);
  });
}

}  // namespace
}  // namespace motet
