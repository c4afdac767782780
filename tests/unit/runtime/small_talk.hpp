// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/tensor/random.hpp>

#include <cstdint>
#include <vector>

// A language model that trains in milliseconds, and text for it.

inline constexpr motet::decoder_config small_talk_config{.vocabulary = 23,
                                                         .context = 7,
                                                         .width = 16,
                                                         .layers = 2,
                                                         .heads = 4,
                                                         .kv_heads = 2,
                                                         .hidden = 20,
                                                         .rotary = 100,
                                                         .bias = true,
                                                         .head_norm = true,
                                                         .z_loss = 0.02f};
using small_talk = motet::decoder<small_talk_config>;
using small_speech = motet::model<motet::join<motet::next_token, motet::module<"talk", small_talk>>>;

// Samples of one to seven tokens; some rows ask for nothing.
struct small_text {
  std::vector<std::int32_t> ids, targets;
  std::vector<motet::isize> offsets{0};
  motet::isize asked = 0;
  // Other questions of the same words by another number for `ask`.
  explicit small_text(motet::isize samples, std::uint64_t seed = 1, std::uint64_t ask = 1000) {
    const motet::random_stream lengths(seed, "lengths"), words(seed, "words");
    for (motet::isize s = 0; s < samples; ++s) {
      const auto length = static_cast<motet::isize>(1 + lengths.below(static_cast<std::uint64_t>(s), 7));
      for (motet::isize k = 0; k < length; ++k) {
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 23)));
        targets.push_back(words.below(ask + ids.size(), 3) == 0
                              ? -100
                              : static_cast<std::int32_t>(words.below(2000 + ids.size(), 23)));
        asked += targets.back() >= 0 ? 1 : 0;
      }
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
  }
  motet::labelled_tokens get() const {
    const auto samples = static_cast<motet::isize>(offsets.size()) - 1;
    return {{ids.data(), {samples, 0, offsets.data()}}, targets.data(), 1 / static_cast<double>(asked)};
  }
};
