// SPDX-License-Identifier: Apache-2.0
#include "typed_drawer.hpp"

namespace motet::drawing {

std::unique_ptr<saved_drawer> make_draw_quick(const drawer_request& wanted) {
  using namespace train_vlm;
  return std::make_unique<typed_drawer<draw_quick_eye, draw_quick_words, draw_quick_canvas>>(wanted);
}

}  // namespace motet::drawing
