// SPDX-License-Identifier: Apache-2.0
#include "../train_vlm/models.hpp"
#include "typed_model.hpp"

namespace motet::generate {

std::unique_ptr<spoken_model> make_say_quick_experts(const model_request& wanted) {
  return make_saved<train_vlm::say_quick_experts_model, train_vlm::say_quick_experts_net>(
      train_vlm::lead_of(train_vlm::say_quick_eye), wanted);
}

}  // namespace motet::generate
