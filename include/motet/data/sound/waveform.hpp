// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

#include <vector>

namespace motet {

// A sound as it is heard with one ear: so many numbers a second, from -1 to 1 where nothing is cut off.
struct waveform {
  isize rate = 0;
  std::vector<float> values;
};

// What may be asked of whoever decodes: a file of a few bytes can stand for hours of silence.
struct sound_limits {
  isize values = isize{1} << 28;  // of one channel: 4.6 hours at 16 kHz
  isize channels = 64;
  isize least_rate = 1000, most_rate = 384000;
};

// The same for all formats.
inline void check_limits(isize rate, isize channels, const sound_limits& limits) {
  if (rate < limits.least_rate || rate > limits.most_rate)
    fail(damaged_sound, sentence({"it has ", rate, " numbers a second, wanted ", limits.least_rate, " to ",
                                  limits.most_rate}));
  if (channels < 1 || channels > limits.channels)
    fail(damaged_sound, sentence({"it has ", channels, " channels, wanted 1 to ", limits.channels}));
}

}  // namespace motet
