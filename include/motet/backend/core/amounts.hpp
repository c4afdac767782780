// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>
#include <motet/tensor/view.hpp>

#include <type_traits>

namespace motet {

// The type that arithmetic on elements of these types happens in: double where one of them is double, float
// otherwise.
template <class... T>
using arithmetic = std::conditional_t<(std::is_same_v<std::remove_const_t<T>, double> || ...), double, float>;

// Products are taken in double where an operand is double, as for bf16 where one is bf16, else in float.
template <class... T>
using product_number = std::conditional_t<
    (std::is_same_v<std::remove_const_t<T>, double> || ...), double,
    std::conditional_t<(std::is_same_v<std::remove_const_t<T>, bf16> || ...), bf16, float>>;

template <class T>
inline constexpr double bytes_of = static_cast<double>(sizeof(T));

// So many bytes move when the rows of a matrix are touched once.
template <class T>
double bytes_in(const matrix<T>& x) {
  return x.data == nullptr ? 0 : static_cast<double>(x.rows) * static_cast<double>(x.width) * bytes_of<T>;
}
template <class T>
double elements_in(const matrix<T>& x) {
  return static_cast<double>(x.rows) * static_cast<double>(x.width);
}

}  // namespace motet
