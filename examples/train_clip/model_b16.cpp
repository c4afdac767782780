// SPDX-License-Identifier: Apache-2.0
#include "typed_session.hpp"

namespace motet::train_clip {

// CLIP ViT-B/16 with GELU.
std::unique_ptr<session> make_b16(const session_config& config) {
  constexpr vit_config picture{.image = 224, .patch = 16, .width = 768, .layers = 12, .heads = 12, .embedding = 512, .pre_norm = true};
  constexpr text_config caption{.vocabulary = 49408, .context = 77, .width = 512, .layers = 12, .heads = 8, .embedding = 512};
  return make_session<picture, caption>("b16", config);
}

}  // namespace motet::train_clip
