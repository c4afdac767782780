// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// WAV files for tests.

inline std::span<const std::uint8_t> bytes_of_sound(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

struct wav_as {
  int bits = 16;
  bool real = false, extensible = false;
  int channels = 1, rate = 16000;
  int before = 0;  // bytes of another chunk in front
};

inline void put_low_first(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

inline std::string written_wav(const std::vector<double>& values, const wav_as& as = {}) {
  std::string form, data, all;
  const auto number = [](int of) { return static_cast<std::uint64_t>(of); };
  const int block = as.channels * as.bits / 8;
  put_low_first(form, as.extensible ? 0xfffe : as.real ? 3 : 1, 2);
  put_low_first(form, number(as.channels), 2);
  put_low_first(form, number(as.rate), 4);
  put_low_first(form, number(as.rate * block), 4);
  put_low_first(form, number(block), 2);
  put_low_first(form, number(as.bits), 2);
  if (as.extensible) {
    put_low_first(form, 22, 2);
    put_low_first(form, number(as.bits), 2);
    put_low_first(form, 0, 4);
    put_low_first(form, as.real ? 3 : 1, 2);
    form.append("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
  }
  for (const double each : values) {
    if (as.real && as.bits == 64) {
      put_low_first(data, std::bit_cast<std::uint64_t>(each), 8);
    } else if (as.real) {
      put_low_first(data, std::bit_cast<std::uint32_t>(static_cast<float>(each)), 4);
    } else {
      const auto whole = static_cast<std::int64_t>(std::llround(std::ldexp(each, as.bits - 1)));
      put_low_first(data, static_cast<std::uint64_t>(as.bits == 8 ? whole + 128 : whole), as.bits / 8);
    }
  }
  const auto chunk = [&](const char* name, const std::string& bytes) {
    all += name;
    put_low_first(all, bytes.size(), 4);
    all += bytes;
    if (bytes.size() % 2 == 1) all.push_back('\0');
  };
  all = "WAVE";
  if (as.before > 0) chunk("LIST", std::string(static_cast<std::size_t>(as.before), 'x'));
  chunk("fmt ", form);
  chunk("data", data);
  std::string out = "RIFF";
  put_low_first(out, all.size(), 4);
  return out + all;
}
