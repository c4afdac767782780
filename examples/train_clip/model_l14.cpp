// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_l14(const session_request& wanted) {
  return make_session<cpu::device, l14_picture, l14_caption>("l14", wanted);
}

}  // namespace motet::train_clip
