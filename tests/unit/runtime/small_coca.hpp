// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/graph.hpp>
#include <motet/nn/layers/caption_places.hpp>
#include <motet/nn/towers/decoder_rows.hpp>
#include <motet/nn/towers/pooled_rows.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/nn/towers/upper_decoder.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include "small_sight.hpp"

// Contrast and captions in one model that trains in milliseconds: an eye and the lower half of a language
// model each feed a head that is compared with the other, and the upper half, which says captions.

inline constexpr motet::decoder_config small_lower{
    .vocabulary = 23, .context = 6, .width = 16, .layers = 2, .heads = 4, .hidden = 20, .rotary = 100};
inline constexpr motet::decoder_config small_upper = [] {
  motet::decoder_config c = small_lower;
  c.context = 4 + 6;
  return c;
}();

using small_coca_eye = motet::module<"eye", motet::vit_rows<small_sight_eye>>;
using small_coca_glue = motet::module<"glue", motet::projector<8, 16, 12>>;
using small_coca_words = motet::module<"words", motet::decoder_rows<small_lower>>;
using small_coca_seen = motet::module<
    "seen", motet::pooled_rows<motet::pooled_config{
                .width = 8, .rows = 5, .embedding = 8, .pool = motet::pool_kind::attention, .heads = 2}>>;
using small_coca_said =
    motet::module<"said", motet::pooled_rows<motet::pooled_config{
                              .width = 16, .rows = 6, .embedding = 8, .pool = motet::pool_kind::last}>>;
using small_coca_caption = motet::module<"caption", motet::upper_decoder<small_upper, 5 + 6>>;

using small_coca = motet::model<motet::modules<small_coca_eye, small_coca_glue, small_coca_words,
                                               small_coca_seen, small_coca_said, small_coca_caption>,
                                motet::edge<"eye", "glue">, motet::edge<"eye", "seen">,
                                motet::edge<"words", "said">, motet::edge<"glue", "caption">,
                                motet::edge<"words", "caption">, motet::loss<motet::info_nce, "seen", "said">,
                                motet::weighted<motet::loss<motet::next_token, "caption">, motet::times{2}>>;
// The same eye and words with one of the losses each.
using small_contrast =
    motet::model<motet::modules<small_coca_eye, small_coca_words, small_coca_seen, small_coca_said>,
                 motet::edge<"eye", "seen">, motet::edge<"words", "said">,
                 motet::loss<motet::info_nce, "seen", "said">>;
using small_captioner =
    motet::model<motet::modules<small_coca_eye, small_coca_glue, small_coca_words, small_coca_caption>,
                 motet::edge<"eye", "glue">, motet::edge<"glue", "caption">, motet::edge<"words", "caption">,
                 motet::loss<motet::next_token, "caption">>;

// Pairs of a picture and a caption of one to six tokens.
struct small_coca_data {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  std::vector<motet::isize> offsets{0}, picture_offsets{0};
  motet::caption_places places{5, 1};

  explicit small_coca_data(motet::isize samples, std::uint64_t seed = 1) {
    const motet::random_stream shades(seed, "shades"), lengths(seed, "lengths"), words(seed, "words");
    for (motet::isize i = 0; i < samples * 16; ++i)
      pixels.push_back(static_cast<float>(shades.normal(static_cast<std::uint64_t>(i))));
    for (motet::isize s = 0; s < samples; ++s) {
      const auto length = 1 + lengths.below(static_cast<std::uint64_t>(s), 6);
      for (std::uint64_t k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 23)));
      offsets.push_back(static_cast<motet::isize>(ids.size()));
      picture_offsets.push_back(s + 1);
    }
  }
  motet::isize samples() const { return static_cast<motet::isize>(offsets.size()) - 1; }
  motet::seen_pictures pictures() const {
    return {motet::pictures{pixels.data(), samples()}, samples(), picture_offsets.data()};
  }
  motet::tokens captions() const { return {ids.data(), {samples(), 0, offsets.data()}}; }
  small_coca::batch get() { return {pictures(), captions(), places.of(captions())}; }
  small_contrast::batch compared() const { return {pictures(), captions()}; }
};
