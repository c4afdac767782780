// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

#include <motet/backend/cpu/device.hpp>

namespace motet::train_clip {

std::unique_ptr<session> make_small(const session_config& config) {
  return make_session<cpu::device, small_picture, small_caption>("small", config);
}

}  // namespace motet::train_clip
