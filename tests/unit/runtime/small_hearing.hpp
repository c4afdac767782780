// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/graph.hpp>
#include <motet/nn/towers/cross_decoder.hpp>
#include <motet/nn/towers/sound_rows.hpp>

#include <motet/tensor/random.hpp>

#include <vector>

// A language model whose blocks look at what an ear makes of sounds: none, one or two of a sample.

inline constexpr motet::sound_config small_hearing_ear{
    .bins = 2, .frames = 6, .width = 8, .layers = 2, .heads = 2, .hidden = 12};
inline constexpr motet::decoder_config small_hearing_words{.vocabulary = 23,
                                                           .context = 6,
                                                           .width = 16,
                                                           .layers = 2,
                                                           .heads = 4,
                                                           .hidden = 20,
                                                           .act = motet::activation::gelu,
                                                           .gated = false,
                                                           .norm = motet::norm_kind::layer,
                                                           .rotary = 0,
                                                           .bias = true,
                                                           .mlp_bias = true,
                                                           .tied = true};
// `Every`: the last of so many blocks looks; of several, through a gate.
template <class Ear = motet::sound_rows<small_hearing_ear, 2>, motet::isize Every = 1>
using small_hearing = motet::model<
    motet::modules<
        motet::module<"ear", Ear>,
        motet::module<"talk", motet::cross_decoder<small_hearing_words, 8, 6, Every, (Every > 1)>>>,
    motet::edge<"ear", "talk">, motet::loss<motet::next_token, "talk">>;

// The same with a product of its own at the end, so it may have stages, and a block for one in the middle.
inline constexpr motet::decoder_config small_parted_words = [] {
  motet::decoder_config c = small_hearing_words;
  c.tied = false;
  c.layers = 3;
  return c;
}();
template <class Ear = motet::sound_rows<small_hearing_ear, 2>>
using small_parted_hearing =
    motet::model<motet::modules<motet::module<"ear", Ear>,
                                motet::module<"talk", motet::cross_decoder<small_parted_words, 8, 6>>>,
                 motet::edge<"ear", "talk">, motet::loss<motet::next_token, "talk">>;

struct small_heard_text {
  std::vector<std::int32_t> ids, targets;
  std::vector<motet::isize> offsets{0}, heard_offsets{0}, rows{0};
  std::vector<float> heard;
  motet::isize asked = 0;

  small_heard_text(motet::isize samples, std::uint64_t seed) {
    const motet::random_stream shape(seed, "lengths"), words(seed, "words"), sounds(seed, "sounds");
    for (motet::isize s = 0; s < samples; ++s) {
      const auto at = static_cast<std::uint64_t>(s);
      heard_offsets.push_back(heard_offsets.back() + shape.below(2 * at, 3));
      rows.push_back(3 * heard_offsets.back());
      const motet::isize count = 1 + shape.below(2 * at + 1, 6);
      for (motet::isize r = 0; r < count; ++r) {
        ids.push_back(static_cast<std::int32_t>(words.below(2 * ids.size(), 23)));
        targets.push_back(
            r == 0 && count > 1 ? -1 : static_cast<std::int32_t>(words.below(2 * ids.size() + 1, 23)));
        asked += targets.back() >= 0 ? 1 : 0;
      }
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
    for (motet::isize i = 0; i < 12 * heard_offsets.back(); ++i)
      heard.push_back(static_cast<float>(sounds.normal(static_cast<std::uint64_t>(i))));
  }
  motet::isize samples() const { return static_cast<motet::isize>(offsets.size()) - 1; }
  motet::heard_sounds sounds() const {
    return {{heard.data(), heard_offsets.back()}, samples(), heard_offsets.data()};
  }
  motet::tokens_beside words() const {
    return {{{ids.data(), {samples(), 0, offsets.data()}}, targets.data(), 1.0 / static_cast<double>(asked)},
            {rows.data()}};
  }
};
