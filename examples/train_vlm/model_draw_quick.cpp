// SPDX-License-Identifier: Apache-2.0
#include "draw_session.hpp"

namespace motet::train_vlm {

std::unique_ptr<session> make_draw_quick(const session_request& wanted) {
  return make_draw_session<draw_quick_eye, draw_quick_words, draw_quick_canvas>("draw-quick", wanted);
}

}  // namespace motet::train_vlm
