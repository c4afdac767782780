// SPDX-License-Identifier: Apache-2.0
#include "typed_session.hpp"

namespace motet::train_clip {

// The smallest model of the benchmarks.
std::unique_ptr<session> make_tiny(const session_config& config) {
  constexpr vit_config picture{.image = 64, .patch = 8, .width = 192, .layers = 6, .heads = 3, .embedding = 128, .pre_norm = true};
  constexpr text_config caption{.vocabulary = 1024, .context = 32, .width = 128, .layers = 4, .heads = 2, .embedding = 128};
  return make_session<picture, caption>("tiny", config);
}

}  // namespace motet::train_clip
