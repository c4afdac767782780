// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

namespace motet::profile_program {

list<module_profile> measure_quick(const profile_options& how, bool half) {
  return measure_towers<train_clip::quick_picture, train_clip::quick_caption>(how, half);
}
module_pair pair_of_quick(const module_names& names, const pair_options& how, bool half) {
  return measure_towers_at_once<train_clip::quick_picture, train_clip::quick_caption>(names, how, half);
}
list<module_profile> measure_say_quick(const profile_options& how, bool half) {
  return measure_seeing<train_vlm::say_quick_eye, train_vlm::say_quick_words>(how, half);
}
module_pair pair_of_say_quick(const module_names& names, const pair_options& how, bool half) {
  return measure_eye_and_talk<train_vlm::say_quick_eye, train_vlm::say_quick_words>(names, how, half);
}

}  // namespace motet::profile_program
