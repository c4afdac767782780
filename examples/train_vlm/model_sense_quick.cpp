// SPDX-License-Identifier: Apache-2.0
#include "sense_session.hpp"

namespace motet::train_vlm {

std::unique_ptr<session> make_sense_quick(const session_request& wanted) {
  return make_sense_session<cpu::device, sense_quick_eye, sense_quick_ear, sense_quick_words>("sense-quick",
                                                                                              wanted);
}

}  // namespace motet::train_vlm
