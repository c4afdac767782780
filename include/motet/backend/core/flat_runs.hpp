// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

// Parts of flat buffers that an operation takes many of at once.

namespace motet {

// Neighbours that AdamW treats alike.
template <class T>
struct adamw_run {
  T *weight = nullptr, *gradient = nullptr, *first = nullptr, *second = nullptr;
  index count = 0;
  bool decays = false;
  bool only_clears = false;  // others update these: here their gradients are left zero, and that is all
  // products read copies of these weights, which the update writes as well: for a dry run, which finds none
  bool copied = false;
  // its own shares of the step's rate and decay
  double rate = 1, decay = 1;
};

template <class T>
struct flat_run {
  const T* data = nullptr;
  index count = 0;
};

}  // namespace motet
