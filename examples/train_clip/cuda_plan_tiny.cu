// SPDX-License-Identifier: Apache-2.0
#include "cuda_plan_session.hpp"

namespace motet::train_clip {

std::unique_ptr<plan_session> cuda_plan_tiny(const plan_task& task) {
  return make_gpu_plan_session<tiny_picture, tiny_caption>(task, cuda_tiny);
}

}  // namespace motet::train_clip
