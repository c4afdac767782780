// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/waveform.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("rates and channels out of all proportion are refused") {
  check_limits(16000, 2, sound_limits{});
  const auto refusal = [](motet::isize rate, motet::isize channels) -> std::string {
    try {
      check_limits(rate, channels, sound_limits{});
      return "";
    } catch (const error& problem) {
      return problem.what();
    }
  };
  CHECK(refusal(999, 1).find("it has 999 numbers a second, wanted 1000 to 384000") != std::string::npos);
  CHECK(refusal(384001, 1).find("it has 384001 numbers a second") != std::string::npos);
  CHECK(refusal(16000, 0).find("it has 0 channels, wanted 1 to 64") != std::string::npos);
}
