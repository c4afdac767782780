// SPDX-License-Identifier: Apache-2.0
#include "quick_model.hpp"

#include <motet/run/pair_session.hpp>

#include <motet/front/cuda_ranks.hpp>

namespace motet::train_clip {

std::unique_ptr<session> cuda_quick(const session_request& wanted) {
  return make_pair_session<cuda::device, quick_picture, quick_caption>("quick", wanted);
}

}  // namespace motet::train_clip
