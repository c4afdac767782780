// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_tiny(const profile_options& how, bool half) {
  return measure_towers<train_clip::tiny_picture, train_clip::tiny_caption>(how, half);
}

}  // namespace motet::profile_program
