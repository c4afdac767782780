// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/trained/seeing_painter.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/towers/fed_decoder_rows.hpp>
#include <motet/nn/towers/vit_rows.hpp>

// Models that see a picture, read words and draw another picture, by name.
namespace motet::train_vlm {

// Pictures of a sample that are seen; the last one is drawn.
inline constexpr isize most_seen = 1;
template <vit_config Eye>
using drawing_eye = vit_rows<Eye, true, most_seen>;
template <vit_config Eye, decoder_config Words>
using drawing_glue = projector<Eye.width, Words.width>;
template <decoder_config Words, drawer_config Canvas>
using drawing_drawer = fed_drawer<Canvas, Words.width, Words.context>;

// An eye, its glue, a language model and a drawer at the end, all of which learn from what is drawn.
template <vit_config Eye, decoder_config Words, drawer_config Canvas>
using draw_model =
    model<modules<module<"eye", drawing_eye<Eye>>, module<"glue", drawing_glue<Eye, Words>>,
                  module<"talk", fed_decoder_rows<Words, most_seen * drawing_eye<Eye>::rows_of_picture>>,
                  module<"draw", drawing_drawer<Words, Canvas>>>,
          edge<"eye", "glue">, edge<"glue", "talk">, edge<"talk", "draw">, loss<denoise, "draw">>;
// It paints with the same weights.
template <vit_config Eye, decoder_config Words, drawer_config Canvas>
using draw_painter =
    seeing_painter<seeing_decoder_rows<picture_rows<Eye>, drawing_glue<Eye, Words>, Words, most_seen>,
                   drawing_drawer<Words, Canvas>>;

// Small enough to learn colours in minutes on two cores.
inline constexpr vit_config draw_quick_eye{
    .image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2, .pool = pool_kind::mean};
inline constexpr decoder_config draw_quick_words{
    .vocabulary = 1024, .context = 16 + 32, .width = 128, .layers = 2, .heads = 4, .hidden = 384};
inline constexpr drawer_config draw_quick_canvas{
    .image = 32, .patch = 4, .channels = 3, .width = 128, .layers = 4, .heads = 4, .classes = 0};
using draw_quick_model = draw_model<draw_quick_eye, draw_quick_words, draw_quick_canvas>;
using draw_quick_painter = draw_painter<draw_quick_eye, draw_quick_words, draw_quick_canvas>;

}  // namespace motet::train_vlm
