// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/play/measures.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what two policies made of the same traces is compared trace by trace") {
  measured_outcomes one, other;
  // Traces differ by thousands, policies by about ten.
  for (int trace = 0; trace < 4; ++trace) {
    job_outcome of;
    of.finished = {1000.0 * trace + 10 + trace % 2};
    of.unfairness = {1, 4};
    one.add(of);
    of.finished = {1000.0 * trace};
    other.add(of);
  }
  std::size_t jct = 0, jain = 0;
  for (std::size_t m = 0; m < std::size(job_measures); ++m) {
    if (job_measures[m].name == "jct_finished") jct = m;
    if (job_measures[m].name == "jain") jain = m;
  }
  const mean_interval alone = one.interval(jct), paired = one.difference(jct, other);
  CHECK(alone.high - alone.low > 1000);
  CHECK(paired.mean == doctest::Approx(10.5));
  CHECK(paired.low > 9);
  CHECK(paired.high < 12);
  // Speeds of 1 and 1/4: (5/4)^2 / (2 * 17/16).
  CHECK(one.of(jain)[0] == doctest::Approx(25.0 / 34));
}
