// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <type_traits>

namespace motet {

// Rows of equal width somewhere in memory; operations of a backend take these.
template <class T>
struct matrix {
  T* data = nullptr;
  isize rows = 0;
  isize width = 0;
  isize stride = 0;  // elements from one row to the next

  MOTET_HOST_DEVICE constexpr T* row(isize r) const { return data + r * stride; }
  MOTET_HOST_DEVICE constexpr explicit operator bool() const { return data != nullptr; }
  constexpr matrix<T> columns(isize first, isize count) const { return {data + first, rows, count, stride}; }
  constexpr matrix<T> slice(isize first, isize count) const {
    return {data + first * stride, count, width, stride};
  }
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  constexpr operator matrix<U>() const {
    return {data, rows, width, stride};
  }
};

// The same with the width in the type; nets pass these, so that widths that do not fit do not compile.
template <class T, isize Width>
struct view : matrix<T> {
  constexpr view() = default;
  constexpr view(T* from, isize count, isize step = Width) : matrix<T>{from, count, Width, step} {}
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  constexpr operator view<U, Width>() const {
    return {this->data, this->rows, this->stride};
  }
  constexpr view<T, Width> slice(isize first, isize count) const {
    return {this->data + first * this->stride, count, this->stride};
  }
};

}  // namespace motet
