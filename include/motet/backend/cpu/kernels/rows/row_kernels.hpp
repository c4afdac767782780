// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/bodies.hpp>

#include <cmath>
#include <cstring>
#include <type_traits>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/simd.hpp>
#endif

namespace motet::cpu {

// Sums of up to eight rows at a time are taken in registers, so that the place they are added to is read and
// written an eighth as often.
inline constexpr int summed_rows = 8;

// Short loops over rows that most operations are made of. Matrices come cut to the rows, or columns, that the
// calling thread owns.
template <class X, class Y>
struct convert_kernel {
  using number = arithmetic<X, Y>;
  static void run(matrix<const X> x, matrix<Y> y, number scale);
};
template <class A, class B, class Y>
struct sum_kernel {
  static void run(matrix<const A> a, matrix<const B> b, matrix<Y> y);
};
template <class T, class X>
struct listed_rows_kernel {
  static void run(const X* const* from, int count, isize width, T* sums);
};
template <class T, class A, class B>
struct row_product_kernel {
  static T run(const A* a, const B* b, isize width);
};

// The part of a matrix that an interval of its rows makes.
template <class T>
matrix<T> part_of(matrix<T> x, interval rows) {
  return x.data == nullptr ? x : x.slice(rows.begin, rows.size());
}

// y = 0; all zero bits are zero in every number type here.
template <class Y>
void clear_rows(matrix<Y> y) {
  for (isize r = 0; r < y.rows; ++r)
    std::memset(static_cast<void*>(y.row(r)), 0, as_size(y.width) * sizeof(Y));
}

// y = x * scale, converting
template <class X, class Y>
void convert_rows(matrix<X> x, matrix<Y> y, double scale = 1) {
  if (y.rows == 0) return;
  if constexpr (std::is_same_v<std::remove_const_t<X>, Y>) {
    if (scale == 1) {
      for (isize r = 0; r < y.rows; ++r)
        std::memmove(static_cast<void*>(y.row(r)), x.row(r), as_size(y.width) * sizeof(Y));
      return;
    }
  }
  using kernel = kernel_of<convert_kernel, X, Y>;
  kernel::run(x, y, static_cast<typename kernel::number>(scale));
}

// y = a + b
template <class A, class B, class Y>
void sum_rows(matrix<A> a, matrix<B> b, matrix<Y> y) {
  kernel_of<sum_kernel, A, B, Y>::run(a, b, y);
}

// sums[j] += the sum of from[i][j] over i < count
template <class X, class T>
void sum_listed_rows(const X* const* from, int count, isize width, T* sums) {
  kernel_of<listed_rows_kernel, T, X>::run(from, count, width, sums);
}

// sums[j] += the sum of x[r][j] over all rows
template <class X, class T>
void sum_columns(matrix<X> x, T* sums) {
  const std::remove_const_t<X>* rows[summed_rows];
  for (isize r = 0; r < x.rows; r += summed_rows) {
    const int count = static_cast<int>(x.rows - r < summed_rows ? x.rows - r : summed_rows);
    for (int i = 0; i < count; ++i) rows[i] = x.row(r + i);
    sum_listed_rows(rows, count, x.width, sums);
  }
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/row_kernels.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class X, class Y>
void convert_kernel<X, Y>::run(matrix<const X> x, matrix<Y> y, number scale) {
  MOTET_SIMD_DISPATCH(, convert<number>(x, y, scale));
}
template <class A, class B, class Y>
void sum_kernel<A, B, Y>::run(matrix<const A> a, matrix<const B> b, matrix<Y> y) {
  using number = arithmetic<A, B, Y>;
  MOTET_SIMD_DISPATCH(, sum_of_two<number>(a, b, y));
}
template <class T, class X>
void listed_rows_kernel<T, X>::run(const X* const* from, int count, isize width, T* sums) {
  MOTET_SIMD_DISPATCH(, sum_of_many<X, T>(from, count, width, sums));
}
template <class T, class A, class B>
T row_product_kernel<T, A, B>::run(const A* a, const B* b, isize width) {
  T sum{};
  MOTET_SIMD_DISPATCH(sum =, product_of_rows<T>(a, b, width));
  return sum;
}

}  // namespace motet::cpu
#endif
