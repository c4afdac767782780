// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// A sink is told, while backward runs, which gradients are final: those that no later layer adds to. An empty
// one is told nothing. A context has one, and the layers of a stage tell it by gradients_ready(ctx, data,
// count). It may also want a layer's gradients elsewhere than where they belong: where() says where to add
// them, gives the same answer until told() of them, and has zeros there at first.
struct gradient_sink {
  void (*told)(void* self, const void* data, isize count) = nullptr;
  void* self = nullptr;
  void* (*where)(void* self, const void* data, isize count) = nullptr;
  explicit operator bool() const { return told != nullptr; }
};

}  // namespace motet
