// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_quick(const profile_options& how, bool half) {
  return measure_towers<train_clip::quick_picture, train_clip::quick_caption>(how, half);
}

}  // namespace motet::profile_program
