// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_small(const profile_options& how, bool half) {
  return measure_towers<train_clip::small_picture, train_clip::small_caption>(how, half);
}
module_pair pair_of_small(const module_names& names, const pair_options& how, bool half) {
  return measure_towers_at_once<train_clip::small_picture, train_clip::small_caption>(names, how, half);
}
list<module_profile> measure_say_small(const profile_options& how, bool half) {
  return measure_seeing<train_vlm::say_small_eye, train_vlm::say_small_words>(how, half);
}
module_pair pair_of_say_small(const module_names& names, const pair_options& how, bool half) {
  return measure_eye_and_talk<train_vlm::say_small_eye, train_vlm::say_small_words>(names, how, half);
}

}  // namespace motet::profile_program
