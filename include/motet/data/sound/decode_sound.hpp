// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/sound/flac.hpp>
#include <motet/data/sound/wav.hpp>

namespace motet {

namespace detail {
inline bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}
}  // namespace detail

// Tells by the first four bytes of a file, before anything is decoded.
inline bool begins_like_sound(std::span<const std::uint8_t> bytes) {
  return detail::begins_with(bytes, "RIFF") || detail::begins_with(bytes, "fLaC");
}

// Makes numbers of a sound file, WAV or FLAC, by what its bytes say and not by its name; several channels
// become their mean.
// Asks for: all bytes of the file, of no more numbers than the limits allow.
// Memory: four bytes for each number of a channel, in a waveform that is used again.
// Errors: MT-D21
// Example:
//   waveform heard_in(std::span<const std::uint8_t> file) {
//     waveform out;
//     decode_sound(file, out);
//     return out;
//   }
inline void decode_sound(std::span<const std::uint8_t> bytes, waveform& into,
                         const sound_limits& limits = {}) {
  if (detail::begins_with(bytes, "RIFF")) return decode_wav(bytes, into, limits);
  if (detail::begins_with(bytes, "fLaC")) return decode_flac(bytes, into, limits);
  fail(damaged_sound, sentence({"its ", bytes.size(), " bytes begin like neither WAV nor FLAC"}));
}

inline bool is_sound_field(std::string_view field) { return field == "wav" || field == "flac"; }

}  // namespace motet
