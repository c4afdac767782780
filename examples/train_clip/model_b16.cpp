// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_b16(const session_request& wanted) {
  return make_session<cpu::device, b16_picture, b16_caption>("b16", wanted);
}

}  // namespace motet::train_clip
