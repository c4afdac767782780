// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_tiny(const session_request& wanted) {
  return make_session<cpu::device, tiny_picture, tiny_caption>("tiny", wanted);
}

}  // namespace motet::train_clip
