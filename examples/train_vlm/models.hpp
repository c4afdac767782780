// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/graph.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/joined_picture_rows.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

// Eyes and language models by name. Eyes are CLIP's with the class token
// left out and no norm at their end, so the whole is a model of LLaVA's form: export_hf writes it.
namespace motet::train_vlm {

// Rows of a picture that samples show: one for each patch, or for each square of so many by so many of them.
constexpr isize rows_shown_of(const vit_config& eye, isize squares) {
  const isize side = eye.image / eye.patch / squares;
  return side * side;
}
// A sample has as many pictures as there is room for beside 32 rows of text.
template <vit_config Eye, decoder_config Words, isize Squares = 1>
inline constexpr isize pictures_with = std::max<isize>(1, (Words.context - 32) / rows_shown_of(Eye, Squares));
// What learns: all of it, the glue alone between an eye and a language model that stay as they are, or the
// glue and adapters of that language model.
enum class learning_part : std::uint8_t { all, glue, adapters };
// What a model is beside its two configs: what learns, how many rows of a picture go on as one along either
// side, and whether stages of the eye may end within a block.
struct say_form {
  learning_part learns = learning_part::all;
  isize squares = 1;
  bool halves = false;
};
template <class Net, bool Cut>
using in_halves_if = std::conditional_t<Cut, in_halves<Net>, Net>;
template <vit_config Eye, decoder_config Words, say_form Form>
using say_eye =
    in_halves_if<vit_rows<Eye, false, pictures_with<Eye, Words, Form.squares>, Form.squares>, Form.halves>;
template <class Net, bool Rests>
using frozen_if = std::conditional_t<Rests, frozen<Net>, Net>;
// Every product of the blocks has adapters.
constexpr decoder_config with_adapters(decoder_config words) {
  words.adapters = {.rank = 8,
                    .alpha = 16,
                    .keys = true,
                    .out = true,
                    .gate = true,
                    .up = true,
                    .down = true,
                    .dropout = 0.05f};
  return words;
}
template <decoder_config Words, learning_part Part>
inline constexpr decoder_config learning_words =
    Part == learning_part::adapters ? with_adapters(Words) : Words;
// An eye, a projector and a language model train, modules that each have a place of their own in a plan.
template <vit_config Eye, decoder_config Words, say_form Form = say_form{}>
using say_model =
    model<modules<module<"eye", frozen_if<say_eye<Eye, Words, Form>, Form.learns != learning_part::all>>,
                  module<"glue", projector<say_eye<Eye, Words, Form>::embedding, Words.width>>,
                  module<"talk", frozen_if<fed_decoder<learning_words<Words, Form.learns>,
                                                       say_eye<Eye, Words, Form>::most_pictures *
                                                           say_eye<Eye, Words, Form>::rows_of_picture>,
                                           Form.learns == learning_part::glue>>>,
          edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
// One net with the same weights speaks; adapters are merged into them.
template <vit_config Eye, decoder_config Words, isize Squares = 1>
using say_net = seeing_decoder<
    std::conditional_t<Squares == 1, picture_rows<Eye, false>, joined_picture_rows<Eye, false, Squares>>,
    projector<say_eye<Eye, Words, say_form{.squares = Squares}>::embedding, Words.width>, Words,
    pictures_with<Eye, Words, Squares>>;

// Rows of a picture that are not shown: a class token's, which squares leave out.
constexpr isize lead_of(const vit_config& eye, isize squares = 1) {
  return eye.pool == pool_kind::first && squares == 1 ? 1 : 0;
}

// The quickstart of captions trains this, which is small enough to learn in minutes on two cores.
inline constexpr vit_config say_quick_eye{.image = 64,
                                          .patch = 8,
                                          .width = 128,
                                          .layers = 4,
                                          .heads = 4,
                                          .pool = pool_kind::first,
                                          .pre_norm = true};
inline constexpr decoder_config say_quick_words{
    .vocabulary = 1024, .context = 2 * 64 + 32, .width = 128, .layers = 2, .heads = 4, .hidden = 384};
using say_quick_model = say_model<say_quick_eye, say_quick_words>;
using say_quick_glue_model =
    say_model<say_quick_eye, say_quick_words, say_form{.learns = learning_part::glue}>;
using say_quick_adapted_model =
    say_model<say_quick_eye, say_quick_words, say_form{.learns = learning_part::adapters}>;
using say_quick_joined_model = say_model<say_quick_eye, say_quick_words, say_form{.squares = 2}>;
// Eight experts of half its width in the place of each perceptron, of which every row has two; and plans may
// cut its eye within blocks.
inline constexpr decoder_config say_quick_experts_words = [] {
  decoder_config own = say_quick_words;
  own.hidden = 192;
  own.mix = {.experts = 8, .balance = 0.01f, .z = 1e-3f};
  return own;
}();
using say_quick_experts_model = say_model<say_quick_eye, say_quick_experts_words, say_form{.halves = true}>;
using say_quick_experts_net = say_net<say_quick_eye, say_quick_experts_words>;
using say_quick_joined_net = say_net<say_quick_eye, say_quick_words, 2>;
using say_quick_net = say_net<say_quick_eye, say_quick_words>;

// The model that is compared with others.
inline constexpr vit_config say_small_eye{.image = 64,
                                          .patch = 8,
                                          .width = 384,
                                          .layers = 6,
                                          .heads = 6,
                                          .pool = pool_kind::first,
                                          .pre_norm = true};
inline constexpr decoder_config say_small_words{
    .vocabulary = 8192, .context = 64 + 32, .width = 512, .layers = 8, .heads = 8, .hidden = 1408};
using say_small_model = say_model<say_small_eye, say_small_words>;
using say_small_net = say_net<say_small_eye, say_small_words>;

}  // namespace motet::train_vlm
