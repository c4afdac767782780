// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

#include <motet/backend/cuda/device.hpp>

namespace motet::train_clip {

std::unique_ptr<session> cuda_b16(const session_config& config) {
  return make_session<cuda::device, b16_picture, b16_caption>("b16", config);
}

}  // namespace motet::train_clip
