// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/play/outcome.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("completion times with and without jobs that did not finish") {
  job_outcome of;
  of.finished = {10, 20, 30};
  CHECK(mean_of(of.finished) == 20);
  CHECK(largest_of(of.finished) == 30);
  CHECK(padded_completion(of, 5, 50) == 32);
  CHECK(padded_completion(of, 2, 50) == 20);
  // Without censoring it is the mean.
  CHECK(censored_completion(of) == doctest::Approx(20));
  // One that is known to take 20 at least: half of those who are left behind 20 take 30, like the other.
  of.unfinished = {20};
  CHECK(censored_completion(of) == doctest::Approx(10 * 1 + 10 * 0.75 + 10 * 0.5));
  CHECK(mean_of({}) == 0);
  CHECK(censored_completion({}) == 0);
}

TEST_CASE("jobs that only one policy finishes say nothing of how much longer the others took") {
  job_outcome one, other;
  one.finished = {10, 500, 40}, one.ended = {4, 0, 2};
  other.finished = {30, 20, 7}, other.ended = {2, 4, 9};
  CHECK(longer_than(one, other) == ((10 - 20) + (40 - 30)) / 2.0);
  other.finished[1] = 26;
  CHECK(longer_than(one, other) == -3);
  CHECK(longer_than(other, one) == 3);
  CHECK(longer_than(one, {}) == 0);
}
