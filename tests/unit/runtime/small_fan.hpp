// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "small_edges.hpp"

#include <motet/nn/towers/sound_rows.hpp>

// An eye that feeds two modules, and a language model that three feed, one of which, an ear, stays as it is.

inline constexpr motet::sound_config small_fan_ear{
    .bins = 2, .frames = 8, .width = 16, .layers = 2, .heads = 2, .hidden = 12};
inline constexpr motet::decoder_config small_fan_words = [] {
  motet::decoder_config words = small_sight_words;
  words.context = 18;
  return words;
}();
using small_fan =
    motet::model<motet::modules<motet::module<"eye", motet::vit_rows<small_sight_eye, true, 2>>,
                                motet::module<"glue", motet::projector<8, 16, 12>>,
                                motet::module<"lens", motet::projector<8, 16, 12>>,
                                motet::module<"ear", motet::frozen<motet::sound_rows<small_fan_ear>>>,
                                motet::module<"talk", motet::fed_decoder<small_fan_words, 24>>>,
                 motet::edge<"eye", "glue">, motet::edge<"glue", "talk">, motet::edge<"ear", "talk">,
                 motet::edge<"eye", "lens">, motet::edge<"lens", "talk">,
                 motet::loss<motet::next_token, "talk">>;

// The samples of small_seen_text. Each row of a picture takes its place by way of the glue or of the lens,
// and before some samples four rows of the ear's stand, where there is one.
struct small_fan_text {
  small_seen_text data;
  std::vector<std::int32_t> ids, targets, places;
  std::vector<motet::isize> offsets{0}, rows, heard_offsets{0};
  std::vector<float> heard;

  small_fan_text(motet::isize samples, std::uint64_t seed, bool hears = true) : data(samples, seed) {
    const motet::random_stream shape(seed, "ear"), shades(seed, "sounds"), ways(seed, "ways");
    std::vector<std::int32_t> moved, by_glue, by_ear, by_lens;
    for (motet::isize s = 0; s < samples; ++s) {
      const bool has = hears && shape.below(static_cast<std::uint64_t>(s), 2) == 0;
      heard_offsets.push_back(heard_offsets.back() + (has ? 1 : 0));
      for (int row = 0; has && row < 4; ++row) {
        by_ear.push_back(static_cast<std::int32_t>(ids.size()));
        ids.push_back(-1), targets.push_back(-1);
      }
      const auto at = [](motet::isize k) { return static_cast<std::size_t>(k); };
      for (motet::isize r = data.offsets[at(s)]; r < data.offsets[at(s) + 1]; ++r) {
        moved.push_back(static_cast<std::int32_t>(ids.size()));
        ids.push_back(data.ids[at(r)]), targets.push_back(data.targets[at(r)]);
      }
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
    for (const std::int32_t each : data.places) {
      const std::int32_t place = each < 0 ? each : moved[static_cast<std::size_t>(each)];
      const bool glued = ways.below(by_glue.size(), 2) == 0;
      by_glue.push_back(glued ? place : -1);
      by_lens.push_back(glued ? -1 : place);
    }
    // Places come in the order of the model's edges into the language model.
    for (const auto* each : {&by_glue, &by_ear, &by_lens})
      places.insert(places.end(), each->begin(), each->end());
    for (const auto& [counts, each] :
         {std::pair(&data.picture_offsets, 5), {&heard_offsets, 4}, {&data.picture_offsets, 5}})
      for (const motet::isize k : *counts) rows.push_back(each * k);
    for (motet::isize i = 0; i < heard_offsets.back() * 16; ++i)
      heard.push_back(static_cast<float>(shades.normal(static_cast<std::uint64_t>(i))));
  }
  small_fan::batch get() const {
    const auto samples = static_cast<motet::isize>(offsets.size()) - 1;
    const motet::pictured_tokens seen = data.get();
    return {motet::seen_pictures{seen.seen, samples, data.picture_offsets.data()},
            motet::heard_sounds{{heard.data(), heard_offsets.back()}, samples, heard_offsets.data()},
            motet::placed_tokens{{{ids.data(), {samples, 0, offsets.data()}}, targets.data(), seen.share},
                                 rows.data(),
                                 places.data(),
                                 {},
                                 3}};
  }
};
