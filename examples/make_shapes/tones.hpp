// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "caption.hpp"

#include <motet/data/sound/waveform.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

namespace motet::shapes {

// These can be heard, and have these words.

struct note {
  const char* word;
  float hertz;
};
inline constexpr note notes[] = {
    {"do", 523.25f}, {"re", 587.33f}, {"mi", 659.26f}, {"sol", 783.99f}, {"la", 880.0f}};
struct partial {
  float of;  // the note's frequency
  float loud;
};
struct voice {
  static constexpr std::size_t most = 5;
  const char* word;
  partial partials[most];
  float fades;  // by so many e-folds a second
};
inline constexpr voice voices[] = {
    {"flute", {{1, 1}}, 0},
    {"reed", {{1, 0.6f}, {3, 0.5f}, {5, 0.4f}, {7, 0.3f}}, 0},
    {"horn", {{1, 0.5f}, {2, 0.5f}, {3, 0.4f}, {4, 0.3f}, {6, 0.2f}}, 0},
    {"bell", {{1, 0.7f}, {2.76f, 0.5f}, {5.4f, 0.3f}}, 7},
};
inline constexpr isize note_count = std::size(notes), tone_count = note_count * std::size(voices);

inline std::string tone_name(isize tone) {
  return std::string(voices[tone / note_count].word) + " " + notes[tone % note_count].word;
}
inline std::string tone_caption(isize tone) {
  return with_article(voices[tone / note_count].word) + " plays " + notes[tone % note_count].word;
}
inline std::string describe(dice& roll, isize tone) {
  const std::string who = with_article(voices[tone / note_count].word), what = notes[tone % note_count].word;
  if (roll.chance(0.6f)) return tone_caption(tone);
  return roll.chance(0.5f) ? "the sound of " + who + " that plays " + what : what + ", played by " + who;
}

// Two thirds of a second, of any loudness, a little out of tune, somewhere in it, in some noise.
inline waveform play(dice& roll, isize tone) {
  constexpr isize rate = 16000, length = rate * 64 / 100;
  const voice& who = voices[tone / note_count];
  const float loudness = roll.between(0.1f, 0.4f), noise = roll.between(0, 0.01f),
              hertz = notes[tone % note_count].hertz * roll.between(0.995f, 1.005f);
  const isize begin = static_cast<isize>(roll.between(0, 0.15f * rate));
  float phases[voice::most];
  for (float& each : phases) each = roll.between(0, 1);
  waveform out{rate, std::vector<float>(as_size(length))};
  for (isize i = 0; i < length; ++i) {
    float value = noise * static_cast<float>(roll.stream().normal(static_cast<std::uint64_t>(1000 + i)));
    if (i >= begin) {
      const float seconds = static_cast<float>(i - begin) / rate;
      const float swell = std::min(1.0f, 50 * seconds) * std::exp(-who.fades * seconds);
      for (std::size_t k = 0; k < voice::most; ++k)
        value += loudness * swell * who.partials[k].loud *
                 std::sin(2 * std::numbers::pi_v<float> * (hertz * who.partials[k].of * seconds + phases[k]));
    }
    out.values[as_size(i)] = value;
  }
  return out;
}

}  // namespace motet::shapes
