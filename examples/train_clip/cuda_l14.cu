// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <motet/run/pair_session.hpp>

#include <motet/front/cuda_ranks.hpp>

namespace motet::train_clip {

std::unique_ptr<session> cuda_l14(const session_request& wanted) {
  return make_pair_session<cuda::device, l14_picture, l14_caption>("l14", wanted);
}

}  // namespace motet::train_clip
