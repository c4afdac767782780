// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>
#include <motet/tensor/view.hpp>

#include <type_traits>

namespace motet::detail {

// The type that arithmetic on elements of these types happens in: double where one of them is double, float
// otherwise.
template <class... T>
using arithmetic = std::conditional_t<(std::is_same_v<std::remove_const_t<T>, double> || ...), double, float>;

template <class T>
inline constexpr double bytes_of = static_cast<double>(sizeof(T));

// What moves when `rows` rows of a matrix are touched once.
template <class T>
double bytes_in(const matrix<T>& x) {
  return x.data == nullptr ? 0 : static_cast<double>(x.rows) * static_cast<double>(x.width) * bytes_of<T>;
}
template <class T>
double elements_in(const matrix<T>& x) {
  return static_cast<double>(x.rows) * static_cast<double>(x.width);
}

}  // namespace motet::detail
