// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cstdint>

namespace motet {

// Where a stage's weights are nowhere whole, addresses from here on stand for them. No memory lies there.
template <class T>
T* standing_address() {
  return reinterpret_cast<T*>(std::uintptr_t{1} << 45);
}

// A lender has the weights of a layer while it computes, where they are nowhere whole otherwise. A context
// has one, and the layers of a stage ask it by weights_at(ctx, data, count): where() says where they lie now,
// those of a layer at a time, and gives the same answer until another layer's are wanted. An empty one lends
// nothing.
struct weight_lender {
  const void* (*where)(void* self, const void* data, isize count) = nullptr;
  void* self = nullptr;
  const void *first = nullptr, *last = nullptr;  // of the addresses that stand for weights
  bool lends(const void* data) const {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    return where != nullptr && at >= reinterpret_cast<std::uintptr_t>(first) &&
           at < reinterpret_cast<std::uintptr_t>(last);
  }
};

}  // namespace motet
