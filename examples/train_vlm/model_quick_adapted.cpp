// SPDX-License-Identifier: Apache-2.0
#include "say_session.hpp"

namespace motet::train_vlm {

std::unique_ptr<session> make_say_quick_adapted(const session_request& wanted) {
  return make_say_session<cpu::device, say_quick_eye, say_quick_words,
                          say_form{.learns = learning_part::adapters}>("say-quick-adapted", wanted);
}

}  // namespace motet::train_vlm
