// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "small_edges.hpp"
#include "small_model.hpp"

// An eye that two language models share, each with a loss of its own, and two towers that are compared.
using small_losses =
    motet::model<motet::modules<motet::module<"eye", motet::vit_rows<small_sight_eye, true, 2>>,
                                motet::module<"glue", motet::projector<8, 16, 12>>,
                                motet::module<"lens", motet::projector<8, 16, 12>>,
                                motet::module<"talk", motet::fed_decoder<small_sight_words, 10>>,
                                motet::module<"tell", motet::fed_decoder<small_sight_words, 10>>,
                                small_picture, small_caption>,
                 motet::edge<"eye", "glue">, motet::edge<"glue", "talk">, motet::edge<"eye", "lens">,
                 motet::edge<"lens", "tell">, motet::loss<motet::info_nce, "picture", "caption">,
                 motet::weighted<motet::loss<motet::next_token, "talk">, motet::times{2}>,
                 motet::weighted<motet::loss<motet::next_token, "tell">, motet::times{0.5}>>;

struct small_losses_data {
  small_seen_text data;
  small_batch pairs;
  std::vector<motet::isize> rows;

  small_losses_data(motet::isize samples, std::uint64_t seed) : data(samples, seed), pairs(samples, seed) {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  }
  // Of the eye and one language model alone.
  small_fed_speech<>::batch talk() const {
    const motet::pictured_tokens all = data.get();
    const auto samples = static_cast<motet::isize>(rows.size()) - 1;
    return {motet::seen_pictures{all.seen, samples, all.picture_offsets},
            motet::placed_tokens{all, rows.data(), all.places}};
  }
  small_losses::batch get() const {
    const auto [seen, text] = talk();
    const auto [pixels, captions] = pairs.get();
    return {seen, text, text, pixels, captions};
  }
};
