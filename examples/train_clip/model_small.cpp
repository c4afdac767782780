// SPDX-License-Identifier: Apache-2.0
#include "typed_session.hpp"

namespace motet::train_clip {

// The model that the benchmarks compare most.
std::unique_ptr<session> make_small(const session_config& config) {
  constexpr vit_config picture{.image = 64, .patch = 8, .width = 384, .layers = 12, .heads = 6, .embedding = 256, .pre_norm = true};
  constexpr text_config caption{.vocabulary = 1024, .context = 32, .width = 256, .layers = 6, .heads = 4, .embedding = 256};
  return make_session<picture, caption>("small", config);
}

}  // namespace motet::train_clip
