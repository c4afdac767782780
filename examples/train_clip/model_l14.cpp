// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

#include <motet/backend/cpu/device.hpp>

namespace motet::train_clip {

std::unique_ptr<session> make_l14(const session_config& config) {
  return make_session<cpu::device, l14_picture, l14_caption>("l14", config);
}

}  // namespace motet::train_clip
