// SPDX-License-Identifier: Apache-2.0
#include "typed_plan_session.hpp"

namespace motet::train_clip {

std::unique_ptr<plan_session> plan_tiny(const plan_task& task) {
  return make_plan_session<tiny_picture, tiny_caption>(task, make_tiny);
}

}  // namespace motet::train_clip
