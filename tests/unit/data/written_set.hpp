// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>

#include <unit/data/pairs.hpp>
#include <unit/data/sound/written_wav.hpp>

#include <cmath>
#include <fstream>

// Samples of several pieces for the tests.

inline std::string write_lines(const scratch& folder, const std::string& name, const std::string& text) {
  const std::string path = (folder / name).string();
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return path;
}

// Of every five samples: a pair, two pictures with a question between them, text alone, a pair, a picture
// after its text. `change` may alter the JSON before it is written, `damaged` tells whose last picture is
// cut.
inline std::string write_mixed(const scratch& folder, const std::string& name, motet::isize first,
                               motet::isize count,
                               const std::function<void(motet::isize, std::string&)>& change = {},
                               const std::function<bool(motet::isize)>& damaged = {}) {
  const std::string path = (folder / name).string();
  motet::tar_writer tar(path);
  for (motet::isize i = first; i < first + count; ++i) {
    const std::string key = "s" + std::to_string(i), number = std::to_string(i);
    const auto picture = [&](motet::isize which, bool last) {
      std::string bytes =
          motet::encode_ppm(noise_picture(9 + i % 3, 8 + which, static_cast<std::uint64_t>(10 * i + which)));
      if (last && damaged && damaged(i)) bytes.resize(40);
      return bytes;
    };
    const auto written = [&](std::string text) {
      if (change) change(i, text);
      tar.add(key + ".json", text);
    };
    switch (i % 5) {
      case 1:
        tar.add(key + ".0.ppm", picture(0, false));
        written(R"({"pieces":[{"picture":"0.ppm"},{"given":"what"},{"picture":"1.PPM"},{"asked":"number )" +
                number + R"("}]})");
        tar.add(key + ".1.ppm", picture(1, true));
        break;
      case 2: written(R"({"pieces":[{"given":"a number"},{"asked":")" + number + R"("}]})"); break;
      case 4:
        written(R"({"pieces":[{"asked":"on the left"},{"picture":"0.ppm"},{"asked":"is )" + number +
                R"("}]})");
        tar.add(key + ".0.ppm", picture(0, true));
        break;
      default:
        tar.add(key + ".ppm", picture(0, true));
        tar.add(key + ".txt", " a picture of number " + number + (i % 2 == 0 ? " on the left\n" : ""));
        tar.add(key + ".json", R"({"class":3})");
    }
  }
  tar.finish();
  tar.commit();
  return path;
}

// A twentieth of a second, each number of another pitch.
inline std::string tone_file(motet::isize number) {
  std::vector<double> values;
  for (int i = 0; i < 800; ++i) values.push_back(0.5 * std::sin(0.02 * static_cast<double>(number + 3) * i));
  return written_wav(values);
}
// Of every three samples: a sound and its caption, a picture and a sound, two sounds with a question between
// them. `change` may damage the last sound.
inline std::string write_heard(const scratch& folder, const std::string& name, motet::isize count,
                               const std::function<void(motet::isize, std::string&)>& change = {}) {
  const std::string path = (folder / name).string();
  motet::tar_writer tar(path);
  for (motet::isize i = 0; i < count; ++i) {
    const std::string key = "h" + std::to_string(i), number = std::to_string(i);
    std::string sound = tone_file(i);
    if (change) change(i, sound);
    const std::string asked = R"({"asked":"number )" + number + R"("}]})";
    if (i % 3 == 0) {
      tar.add(key + ".wav", sound);
      tar.add(key + ".txt", "a number " + number);
      continue;
    }
    if (i % 3 == 1) {
      tar.add(key + ".0.ppm", motet::encode_ppm(noise_picture(9, 8, static_cast<std::uint64_t>(i))));
      tar.add(key + ".json", R"({"pieces":[{"picture":"0.ppm"},{"sound":"1.wav"},)" + asked);
    } else {
      tar.add(key + ".0.wav", tone_file(i + 50));
      tar.add(key + ".json", R"({"pieces":[{"sound":"0.wav"},{"given":"what"},{"sound":"1.WAV"},)" + asked);
    }
    tar.add(key + ".1.wav", sound);
  }
  tar.finish();
  tar.commit();
  return path;
}
