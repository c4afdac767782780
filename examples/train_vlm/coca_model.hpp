// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models.hpp"

#include <motet/nn/towers/decoder_rows.hpp>
#include <motet/nn/towers/pooled_rows.hpp>
#include <motet/nn/towers/upper_decoder.hpp>

// A model that compares and captions, in CoCa's form (Yu et al. 2022): an eye, and a language model in two
// halves, of which the lower one never sees the picture. A head over the eye's rows and one over the lower
// half's last row are compared; the upper half reads the eye's rows and those of the words, and says what
// comes next.
namespace motet::train_vlm {

// The upper half has room for a picture and a caption.
constexpr decoder_config upper_half_of(decoder_config lower, const vit_config& eye, isize layers) {
  lower.context += rows_shown_of(eye, 1);
  lower.layers = layers;
  return lower;
}

template <vit_config Eye, decoder_config Lower, isize UpperLayers, isize Embedding>
using coca_model =
    model<modules<module<"eye", vit_rows<Eye>>, module<"glue", projector<Eye.width, Lower.width>>,
                  module<"words", decoder_rows<Lower>>,
                  module<"seen", pooled_rows<pooled_config{.width = Eye.width,
                                                           .rows = vit_rows<Eye>::rows_of_picture,
                                                           .embedding = Embedding,
                                                           .pool = pool_kind::attention,
                                                           .heads = Eye.heads}>>,
                  module<"said", pooled_rows<pooled_config{.width = Lower.width,
                                                           .rows = Lower.context,
                                                           .embedding = Embedding,
                                                           .pool = pool_kind::last,
                                                           .norm = norm_kind::rms}>>,
                  module<"caption", upper_decoder<upper_half_of(Lower, Eye, UpperLayers),
                                                  vit_rows<Eye>::rows_of_picture + Lower.context>>>,
          edge<"eye", "glue">, edge<"eye", "seen">, edge<"words", "said">, edge<"glue", "caption">,
          edge<"words", "caption">, loss<info_nce, "seen", "said">,
          weighted<loss<next_token, "caption">, times{2}>>;

inline constexpr decoder_config say_quick_lower{
    .vocabulary = 1024, .context = 32, .width = 128, .layers = 2, .heads = 4, .hidden = 384};
inline constexpr isize say_quick_upper_layers = 2, say_quick_embedding = 128;
using coca_quick_model =
    coca_model<say_quick_eye, say_quick_lower, say_quick_upper_layers, say_quick_embedding>;

}  // namespace motet::train_vlm
