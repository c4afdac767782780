// SPDX-License-Identifier: Apache-2.0
#include "quick_model.hpp"
#include "typed_session.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_quick(const session_config& config) { return make_session<quick_picture, quick_caption>("quick", config); }

}  // namespace motet::train_clip
