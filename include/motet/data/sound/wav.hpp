// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/sound/waveform.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace motet {

namespace detail {

// Numbers of a WAV file, lowest byte first.
class wav_bytes {
 public:
  explicit wav_bytes(std::span<const std::uint8_t> of) : of_(of) {}
  isize size() const { return static_cast<isize>(of_.size()); }
  bool says(isize at, std::string_view word) const {
    return at + static_cast<isize>(word.size()) <= size() &&
           std::memcmp(of_.data() + at, word.data(), word.size()) == 0;
  }
  template <int Bytes>
  std::uint64_t number(isize at) const {
    std::uint64_t out = 0;
    for (int i = 0; i < Bytes; ++i) out |= std::uint64_t{of_[as_size(at + i)]} << (8 * i);
    return out;
  }

 private:
  std::span<const std::uint8_t> of_;
};

struct wav_form {
  bool real = false;
  isize channels = 0, rate = 0, bits = 0;
  isize bytes_of_all() const { return channels * bits / 8; }  // channels, at once
};

// The chunk `fmt `, plain or extensible, which says in a longer name what the plain one says in a number.
inline wav_form read_wav_form(const wav_bytes& bytes, isize at, isize size) {
  if (size < 16) fail(damaged_sound, sentence({"WAV: its form has ", size, " bytes, wanted 16 or more"}));
  constexpr isize pcm = 1, real = 3, extensible = 0xfffe;
  auto kind = static_cast<isize>(bytes.number<2>(at));
  if (kind == extensible) {
    constexpr std::string_view rest("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
    if (size < 40 || !bytes.says(at + 26, rest))
      fail(damaged_sound, "WAV: its extensible form names no kind of numbers");
    kind = static_cast<isize>(bytes.number<2>(at + 24));
  }
  const wav_form out{kind == real, static_cast<isize>(bytes.number<2>(at + 2)),
                     static_cast<isize>(bytes.number<4>(at + 4)),
                     static_cast<isize>(bytes.number<2>(at + 14))};
  const isize bits = out.bits;
  const bool known = kind == pcm    ? bits == 8 || bits == 16 || bits == 24 || bits == 32
                     : kind == real ? bits == 32 || bits == 64
                                    : false;
  if (!known)
    fail(damaged_sound,
         sentence({"WAV: numbers of kind ", kind, " and ", bits,
                   " bits; read are PCM (1) of 8, 16, 24 and 32, and floats (3) of 32 and 64"}));
  if (const auto block = static_cast<isize>(bytes.number<2>(at + 12)); block != out.bytes_of_all())
    fail(damaged_sound,
         sentence({"WAV: ", block, " bytes for all channels at once, wanted ", out.bytes_of_all()}));
  return out;
}

// One number, full scale being 1.
inline double wav_number(const wav_bytes& bytes, isize at, const wav_form& form) {
  switch (form.bits) {
    case 8: return (static_cast<double>(bytes.number<1>(at)) - 128) / 128;
    case 16: return static_cast<double>(static_cast<std::int16_t>(bytes.number<2>(at))) / 32768;
    case 24: return static_cast<double>(static_cast<std::int32_t>(bytes.number<3>(at) << 8)) / 2147483648.0;
    case 32: {
      const auto word = static_cast<std::uint32_t>(bytes.number<4>(at));
      if (form.real) return static_cast<double>(std::bit_cast<float>(word));
      return static_cast<double>(static_cast<std::int32_t>(word)) / 2147483648.0;
    }
    default: return std::bit_cast<double>(bytes.number<8>(at));
  }
}

}  // namespace detail

// Any WAV file of whole or real numbers becomes one channel, the mean of its own. Programs that write to a
// pipe leave the length open (all bits set): then it goes on to the end.
inline void decode_wav(std::span<const std::uint8_t> from, waveform& into, const sound_limits& limits = {}) {
  const detail::wav_bytes bytes(from);
  if (!bytes.says(0, "RIFF") || !bytes.says(8, "WAVE")) fail(damaged_sound, "WAV: it begins like none");
  constexpr isize open_end = 0xffffffff;
  detail::wav_form form;
  for (isize at = 12; at + 8 <= bytes.size();) {
    const isize start = at + 8, left = bytes.size() - start;
    auto size = static_cast<isize>(bytes.number<4>(at + 4));
    const bool is_data = bytes.says(at, "data");
    if (is_data && size == open_end && form.bits != 0) size = left - left % form.bytes_of_all();
    if (size > left)
      fail(damaged_sound, sentence({"WAV: it ends after ", left, " of ", size, " bytes of a chunk"}));
    if (bytes.says(at, "fmt ")) {
      form = detail::read_wav_form(bytes, start, size);
      check_limits(form.rate, form.channels, limits);
    } else if (is_data) {
      if (form.bits == 0) fail(damaged_sound, "WAV: its numbers come before what they are");
      const isize each = form.bits / 8, all = form.bytes_of_all(), count = size / all;
      if (size % all != 0)
        fail(damaged_sound, sentence({"WAV: ", size, " bytes are not whole numbers of ", form.channels,
                                      " channels of ", each, " bytes"}));
      if (count > limits.values)
        fail(damaged_sound, sentence({"WAV: it has ", count, " numbers, the limit is ", limits.values}));
      into.rate = form.rate;
      into.values.resize(as_size(count));
      for (isize i = 0; i < count; ++i) {
        double sum = 0;
        for (isize c = 0; c < form.channels; ++c)
          sum += detail::wav_number(bytes, start + i * all + c * each, form);
        const double mean = sum / static_cast<double>(form.channels);
        if (!(std::abs(mean) <= static_cast<double>(std::numeric_limits<float>::max())))
          fail(damaged_sound, sentence({"WAV: number ", i, " is not finite"}));
        into.values[as_size(i)] = static_cast<float>(mean);
      }
      return;
    }
    at = start + size + size % 2;
  }
  fail(damaged_sound, form.bits == 0 ? "WAV: it ends before its form" : "WAV: it ends before its numbers");
}

// One channel of whole numbers of 16 bits; what is louder than 1 is cut off.
inline std::string encode_wav(const waveform& from) {
  std::string out;
  const auto put = [&](std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
  };
  const std::uint64_t data = 2 * from.values.size(), rate = static_cast<std::uint64_t>(from.rate);
  out += "RIFF";
  put(36 + data, 4);
  out += "WAVEfmt ";
  put(16, 4);  // bytes of the form
  put(1, 2);   // whole numbers
  put(1, 2);   // channels
  put(rate, 4);
  put(2 * rate, 4);  // bytes a second
  put(2, 2);         // bytes of a number
  put(16, 2);        // bits of one
  out += "data";
  put(data, 4);
  for (const float each : from.values) {
    const float whole = std::round(std::clamp(32768 * each, -32768.0f, 32767.0f));
    put(static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)), 2);
  }
  return out;
}

}  // namespace motet
