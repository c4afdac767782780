// SPDX-License-Identifier: Apache-2.0
#include "typed_session.hpp"

namespace motet::train_clip {

// CLIP ViT-L/14 with GELU.
std::unique_ptr<session> make_l14(const session_config& config) {
  constexpr vit_config picture{.image = 224, .patch = 14, .width = 1024, .layers = 24, .heads = 16, .embedding = 768, .pre_norm = true};
  constexpr text_config caption{.vocabulary = 49408, .context = 77, .width = 768, .layers = 12, .heads = 12, .embedding = 768};
  return make_session<picture, caption>("l14", config);
}

}  // namespace motet::train_clip
