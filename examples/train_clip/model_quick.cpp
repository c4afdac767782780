// SPDX-License-Identifier: Apache-2.0
#include "quick_model.hpp"
#include "typed_session.hpp"

#include <motet/backend/cpu/device.hpp>

namespace motet::train_clip {

std::unique_ptr<session> make_quick(const session_config& config) {
  return make_session<cpu::device, quick_picture, quick_caption>("quick", config);
}

}  // namespace motet::train_clip
