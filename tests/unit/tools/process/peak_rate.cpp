// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/peak_rate.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

TEST_CASE("a share is never more than the whole, and the best of all that was found is the peak") {
  peak_rate peak(100);
  CHECK(peak.share(50) == 0.5);
  CHECK_FALSE(peak.is_beaten_by(100));
  // The peak was measured while others ran.
  CHECK(peak.is_beaten_by(160));
  CHECK(peak.share(160) == 1);
  peak.raise(200);
  CHECK(peak.share(160) == 0.8);
  CHECK_FALSE(peak.is_beaten_by(160));
  peak.raise(120);
  CHECK(peak.best() == 200);
}

TEST_CASE("a peak that is not known has no shares, and nothing beats it") {
  const peak_rate none;
  CHECK(none.share(10) == 0);
  CHECK_FALSE(none.is_beaten_by(10));
}

TEST_CASE("a peak is told in GFLOP/s, or not at all") {
  CHECK(told_peak("125.5") == 125.5e9);
  CHECK(told_peak("1e6") == 1e15);
  CHECK(told_peak(nullptr) == 0);
  CHECK(told_peak("") == 0);
}

TEST_CASE("a peak that is no number of GFLOP/s is refused, not measured instead") {
  for (const char* wrong : {"0", "-3", "fast", "50x", " 50", "nan", "inf", "1e15"}) {
    CAPTURE(wrong);
    const std::string said =
        std::string("MOTET_PEAK wants GFLOP/s, above 0 and below 1e15, got \"") + wrong + '"';
    CHECK_THROWS_WITH_AS(told_peak(wrong), doctest::Contains("MT-X08"), error);
    CHECK_THROWS_WITH(told_peak(wrong), doctest::Contains(said.c_str()));
  }
}
