// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "typed_session.hpp"

#include <motet/backend/cuda/device.hpp>

namespace motet::train_clip {

std::unique_ptr<session> cuda_tiny(const session_config& config) {
  return make_session<cuda::device, tiny_picture, tiny_caption>("tiny", config);
}

}  // namespace motet::train_clip
