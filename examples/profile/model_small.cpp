// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_small(const profile_options& how, bool half) {
  return measure_towers<train_clip::small_picture, train_clip::small_caption>(how, half);
}

}  // namespace motet::profile_program
