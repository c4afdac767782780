// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/sound_reader.hpp>

#include <unit/data/sound/written_wav.hpp>
#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <fstream>

using namespace motet;

namespace {

std::string put(const scratch& folder, const char* name, const std::string& bytes) {
  std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  return (folder.path() / name).string();
}

std::vector<double> tone(int rate) {
  std::vector<double> out;
  for (int i = 0; i < rate; ++i) out.push_back(0.5 * std::sin(2 * std::numbers::pi * 700 * i / rate));
  return out;
}

}  // namespace

TEST_CASE("a sound at another rate is heard alike, and it is told") {
  const scratch folder;
  sound_reader reader(20, 50);
  std::vector<float> plain(1000), other(1000);
  CHECK_FALSE(reader.read(put(folder, "a.wav", written_wav(tone(16000))), plain.data()));
  CHECK(reader.read(put(folder, "b.wav", written_wav(tone(44100), {.rate = 44100})), other.data()));
  CHECK(reader.rate() == 44100);
  // The loudest bin of a frame in the middle.
  const auto loudest = [](const std::vector<float>& of) {
    return std::max_element(of.begin() + 500, of.begin() + 520) - of.begin();
  };
  CHECK(loudest(plain) == loudest(other));
  const auto at = static_cast<std::size_t>(loudest(plain));
  CHECK(plain[at] == doctest::Approx(other[at]).epsilon(1e-3));
}

TEST_CASE("what is wrong with a file is told with its name") {
  const scratch folder;
  sound_reader reader(20, 50);
  std::vector<float> features(1000);
  const auto says = [&](const std::string& file, const char* what) {
    try {
      reader.read(file, features.data());
      FAIL("it was read");
    } catch (const error& problem) {
      const std::string found = problem.what();
      INFO(found);
      CHECK(found.find(file) != std::string::npos);
      CHECK(found.find(what) != std::string::npos);
    }
  };
  says(put(folder, "c.wav", "RIFX none of it"), "its 15 bytes begin like neither WAV nor FLAC");
  says(put(folder, "d.wav", written_wav(tone(8000)).substr(0, 100)), "WAV: it ends after 56 of 16000 bytes");
  says((folder.path() / "missing.wav").string(), "No such file");
}
