// SPDX-License-Identifier: Apache-2.0
#include "say_session.hpp"

namespace motet::train_vlm {

std::unique_ptr<session> make_say_small(const session_request& wanted) {
  return make_say_session<cpu::device, say_small_eye, say_small_words>("say-small", wanted);
}

}  // namespace motet::train_vlm
