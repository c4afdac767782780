// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/sound/decode_sound.hpp>
#include <motet/data/sound/log_mel.hpp>
#include <motet/data/sound/resample.hpp>

#include <span>
#include <string>

namespace motet {

// Reads sounds from files as models are let hear them: one channel, at 16,000 numbers a second, as logarithms
// of power on the mel scale. Keeps its memory from one to the next.
class sound_reader {
 public:
  explicit sound_reader(isize bins = 80, isize frames = 3000) : mel_(bins, frames) {}

  // Reads a sound to (frames, bins); what is wrong is told with the file's name. Says whether it came at
  // another rate.
  bool read(const std::string& file, float* features) {
    const input_file source(file);
    bytes_.resize(as_size(source.size()));
    if (source.read(0, bytes_) != source.size()) fail(data_unreadable, file + " (it ends early)");
    try {
      return hear(bytes_, features);
    } catch (const error& problem) {
      throw error(problem, file);
    }
  }
  // The same of what a file holds.
  bool hear(std::span<const std::uint8_t> bytes, float* features) {
    decode_sound(bytes, sound_);
    // What lies behind the last frame is not heard, so it need not be resampled either.
    const isize heard = (mel_.frames() + 1) * log_mel::hop * sound_.rate / log_mel::rate + sound_.rate;
    if (static_cast<isize>(sound_.values.size()) > heard) sound_.values.resize(as_size(heard));
    if (sound_.rate == log_mel::rate) mel_.hear(sound_.values, features);
    else mel_.hear(resampled(sound_.values, sound_.rate, log_mel::rate), features);
    return sound_.rate != log_mel::rate;
  }
  // The samples a second of the sound that was read last.
  isize rate() const { return sound_.rate; }

 private:
  std::vector<std::uint8_t> bytes_;
  waveform sound_;
  log_mel mel_;
};

}  // namespace motet
