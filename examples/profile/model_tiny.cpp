// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_tiny(const profile_options& how, bool half) {
  return measure_towers<train_clip::tiny_picture, train_clip::tiny_caption>(how, half);
}
module_pair pair_of_tiny(const module_names& names, const pair_options& how, bool half) {
  return measure_towers_at_once<train_clip::tiny_picture, train_clip::tiny_caption>(names, how, half);
}

}  // namespace motet::profile_program
