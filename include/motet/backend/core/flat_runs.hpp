// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

// Parts of flat buffers that an operation takes many of at once.

namespace motet {

// Neighbours that an optimizer treats alike. Lion has no second moment.
template <class T>
struct update_run {
  T *weight = nullptr, *gradient = nullptr, *first = nullptr, *second = nullptr;
  isize count = 0;
  bool decays = false;
  bool only_clears = false;  // others update these: here their gradients are left zero, and that is all
  // products read copies of these weights, which the update writes as well: for a dry run, which finds none
  bool copied = false;
  double rate = 1;  // its own share of the step's
};

// Matrices of equal size, one behind the other, that Muon moves, each by itself.
template <class T>
struct matrix_run {
  T *weight = nullptr, *gradient = nullptr, *first = nullptr;
  isize rows = 0, width = 0, count = 1;
  bool decays = true;
  double rate = 1;  // its own share of the step's
};

// Weights and the moving average that follows them.
template <class T>
struct average_run {
  const T* weight = nullptr;
  T* average = nullptr;
  isize count = 0;
};

template <class T>
struct flat_run {
  const T* data = nullptr;
  isize count = 0;
};

}  // namespace motet
