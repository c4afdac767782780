// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/resample.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

std::vector<float> tone(double hertz, motet::isize rate, motet::isize count) {
  std::vector<float> out;
  for (motet::isize i = 0; i < count; ++i)
    out.push_back(static_cast<float>(
        std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / static_cast<double>(rate))));
  return out;
}
// Away from the ends, where there is nothing to hear on one side.
double apart(const std::vector<float>& got, const std::vector<float>& want) {
  double most = 0;
  for (std::size_t i = 200; i + 200 < want.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
  return most;
}

}  // namespace

TEST_CASE("a tone stays itself at another rate, whatever the ratio") {
  for (const motet::isize rate : {8000, 11025, 16000, 22050, 44100, 48000, 44101}) {
    const std::vector<float> got = resampled(tone(1000, rate, rate / 5), rate, 16000),
                             want = tone(1000, 16000, static_cast<motet::isize>(got.size()));
    INFO("rate " << rate);
    CHECK(static_cast<motet::isize>(got.size()) == (rate / 5 * 16000 + rate - 1) / rate);
    CHECK(apart(got, want) < 1e-3);
  }
}

TEST_CASE("what the new rate cannot hold is taken away, what is constant stays") {
  const std::vector<float> got = resampled(tone(9500, 48000, 9600), 48000, 16000);
  CHECK(apart(got, std::vector<float>(got.size(), 0.0f)) < 2e-3);
  const std::vector<float> ones = resampled(std::vector<float>(4800, 1.0f), 48000, 16000);
  CHECK(apart(ones, std::vector<float>(ones.size(), 1.0f)) < 1e-6);
  CHECK(resampled({}, 48000, 16000).empty());
}
