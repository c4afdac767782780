// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/decode_sound.hpp>

#include <unit/data/sound/written_wav.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the bytes tell the format") {
  waveform heard;
  decode_sound(bytes_of_sound(written_wav({0.5})), heard);
  CHECK(heard.values == std::vector<float>{0.5f});
  const auto refusal = [&](const std::string& bytes) -> std::string {
    try {
      decode_sound(bytes_of_sound(bytes), heard);
      return "";
    } catch (const error& problem) {
      return problem.what();
    }
  };
  CHECK(refusal("fLaC").find("FLAC: it ends after 4 bytes") != std::string::npos);
  CHECK(refusal("OggS").find("its 4 bytes begin like neither WAV nor FLAC") != std::string::npos);
  CHECK((is_sound_field("wav") && is_sound_field("flac") && !is_sound_field("mp3")));
}

TEST_CASE("the first bytes alone tell a sound") {
  CHECK(begins_like_sound(bytes_of_sound("RIFF")));
  CHECK(begins_like_sound(bytes_of_sound("fLaC and more")));
  CHECK_FALSE(begins_like_sound(bytes_of_sound("RIF")));
  CHECK_FALSE(begins_like_sound(bytes_of_sound("OggS and more")));
}
