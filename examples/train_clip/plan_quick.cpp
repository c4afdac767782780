// SPDX-License-Identifier: Apache-2.0
#include "typed_plan_session.hpp"

namespace motet::train_clip {

std::unique_ptr<plan_session> plan_quick(const plan_task& task) {
  return make_plan_session<quick_picture, quick_caption>(task, make_quick);
}

}  // namespace motet::train_clip
