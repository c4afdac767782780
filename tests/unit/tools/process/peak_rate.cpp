// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/peak_rate.hpp>

#include <doctest/doctest.h>

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
  CHECK(told_peak(nullptr) == 0);
  for (const char* none : {"", "0", "-3", "fast", "nan", "inf"}) CHECK(told_peak(none) == 0);
}
