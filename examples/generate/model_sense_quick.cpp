// SPDX-License-Identifier: Apache-2.0
#include "sensing_model.hpp"

namespace motet::generate {

std::unique_ptr<spoken_model> make_sense_quick(const model_request& wanted) {
  using namespace train_vlm;
  return make_sensing<sense_quick_model, sense_parts<sense_quick_eye, sense_quick_ear, sense_quick_words>>(
      wanted);
}

}  // namespace motet::generate
