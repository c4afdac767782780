// SPDX-License-Identifier: Apache-2.0
#include "typed_plan_session.hpp"

namespace motet::train_clip {

std::unique_ptr<plan_session> plan_small(const plan_task& task) {
  return make_plan_session<small_picture, small_caption>(task, make_small);
}

}  // namespace motet::train_clip
