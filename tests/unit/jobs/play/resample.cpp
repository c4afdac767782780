// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/play/resample.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a resampled trace has the same times and other jobs, and the same seed the same ones") {
  const job_trace from = small_jobs().trace, one = resample(from, 1), again = resample(from, 1),
                  two = resample(from, 2);
  REQUIRE(one.jobs.size() == from.jobs.size());
  std::size_t same = 0, others = 0;
  for (std::size_t j = 0; j < from.jobs.size(); ++j) {
    CHECK(one.jobs[j].submitted == from.jobs[j].submitted);
    CHECK(one.jobs[j].iterations == again.jobs[j].iterations);
    CHECK(one.jobs[j].deadline > one.jobs[j].submitted);
    same += one.jobs[j].iterations == from.jobs[j].iterations ? 1 : 0;
    others += one.jobs[j].iterations == two.jobs[j].iterations ? 1 : 0;
  }
  CHECK(same < from.jobs.size() / 4);
  CHECK(others < from.jobs.size() / 4);
}

TEST_CASE("an interval is as wide as Student's distribution says") {
  const mean_interval of = interval_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(of.mean == 5.5);
  // 2.262 times the standard error of 0.957.
  CHECK(of.high - of.mean == doctest::Approx(2.166).epsilon(0.01));
  CHECK(std::isinf(interval_of({1, 2}).high));
}
