// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <type_traits>

namespace motet {

// Rows of equal width somewhere in memory; operations of a backend take these.
template <class T>
struct matrix {
  T* data = nullptr;
  index rows = 0;
  index width = 0;
  index stride = 0;  // elements from one row to the next

  MOTET_HOST_DEVICE constexpr T* row(index r) const { return data + r * stride; }
  MOTET_HOST_DEVICE constexpr explicit operator bool() const { return data != nullptr; }
  constexpr matrix<T> columns(index first, index count) const { return {data + first, rows, count, stride}; }
  constexpr matrix<T> slice(index first, index count) const {
    return {data + first * stride, count, width, stride};
  }
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  constexpr operator matrix<U>() const {
    return {data, rows, width, stride};
  }
};

// The same with the width in the type; nets pass these, so that widths that do not fit do not compile.
template <class T, index Width>
struct view : matrix<T> {
  constexpr view() = default;
  constexpr view(T* from, index count, index step = Width) : matrix<T>{from, count, Width, step} {}
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  constexpr operator view<U, Width>() const {
    return {this->data, this->rows, this->stride};
  }
  constexpr view<T, Width> slice(index first, index count) const {
    return {this->data + first * this->stride, count, this->stride};
  }
};

}  // namespace motet
