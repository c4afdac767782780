// SPDX-License-Identifier: Apache-2.0
#include "coca_session.hpp"

namespace motet::train_vlm {

std::unique_ptr<session> make_coca_quick(const session_request& wanted) {
  return make_coca_session<cpu::device, say_quick_eye, say_quick_lower, say_quick_upper_layers,
                           say_quick_embedding>("coca-quick", wanted);
}

}  // namespace motet::train_vlm
