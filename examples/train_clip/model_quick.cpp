// SPDX-License-Identifier: Apache-2.0
#include "quick_model.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_quick(const session_request& wanted) {
  return make_session<cpu::device, quick_picture, quick_caption>("quick", wanted);
}

}  // namespace motet::train_clip
