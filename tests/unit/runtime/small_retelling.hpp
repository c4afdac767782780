// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "small_edges.hpp"

#include <motet/nn/towers/fed_decoder_rows.hpp>
#include <motet/nn/towers/fed_drawer.hpp>

// A picture is seen, told in words, and another one drawn from them: an eye, a glue, a language model, a lens
// and a drawer, in milliseconds.

inline constexpr motet::drawer_config small_retold{
    .image = 8, .patch = 4, .channels = 1, .width = 16, .layers = 2, .heads = 2, .hidden = 24, .classes = 0};

template <bool TalkFrozen = false, bool EyeFrozen = TalkFrozen>
using small_retelling = motet::model<
    motet::modules<motet::module<"eye", kept_if<motet::vit_rows<small_sight_eye, true, 2>, EyeFrozen>>,
                   motet::module<"glue", motet::projector<8, 16, 12>>,
                   motet::module<"talk", kept_if<motet::fed_decoder_rows<small_sight_words, 10>, TalkFrozen>>,
                   motet::module<"lens", motet::linear<16, 12>>,
                   motet::module<"draw", motet::fed_drawer<small_retold, 12, small_sight_words.context>>>,
    motet::edge<"eye", "glue">, motet::edge<"glue", "talk">, motet::edge<"talk", "lens">,
    motet::edge<"lens", "draw">, motet::loss<motet::denoise, "draw">>;

// The samples of small_seen_text, and a picture of random numbers to draw for each.
struct small_retold_text {
  small_seen_text data;
  std::vector<motet::isize> rows;
  std::vector<float> pixels;
  std::uint64_t step;
  small_retold_text(motet::isize samples, std::uint64_t seed) : data(samples, seed), step(seed) {
    const motet::random_stream shades(seed, "retold");
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
    for (motet::isize i = 0; i < samples * 64; ++i)
      pixels.push_back(static_cast<float>(shades.normal(static_cast<std::uint64_t>(i))));
  }
  small_retelling<>::batch get() const {
    const motet::pictured_tokens all = data.get();
    const motet::isize samples = all.seq.samples;
    const motet::drawn_pictures drawn{
        {pixels.data(), samples}, nullptr, {.seed = 1, .step = step}, 1 / static_cast<double>(samples)};
    return {motet::seen_pictures{all.seen, samples, all.picture_offsets},
            motet::placed_tokens{{{all.ids, all.seq}, nullptr, 1}, rows.data(), all.places},
            motet::fed_pictures{drawn, data.offsets.data()}};
  }
};
