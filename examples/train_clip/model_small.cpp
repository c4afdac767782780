// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_small(const session_request& wanted) {
  return make_session<cpu::device, small_picture, small_caption>("small", wanted);
}

}  // namespace motet::train_clip
