// SPDX-License-Identifier: Apache-2.0
#include "../train_vlm/models.hpp"
#include "typed_model.hpp"

namespace motet::generate {

std::unique_ptr<spoken_model> make_say_quick_joined(const model_request& wanted) {
  return make_saved<train_vlm::say_quick_joined_model, train_vlm::say_quick_joined_net>(
      train_vlm::lead_of(train_vlm::say_quick_eye, 2), wanted);
}

}  // namespace motet::generate
