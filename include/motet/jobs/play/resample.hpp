// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/trace.hpp>
#include <motet/jobs/play/outcome.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

// Another trace of the same kind: jobs come when those of the trace come, and what each one is, is drawn from
// all of them.
inline job_trace resample(const job_trace& from, std::uint64_t seed) {
  const random_stream chance(seed, "resampled jobs");
  job_trace out;
  out.origin = from.origin;
  out.jobs.reserve(from.jobs.size());
  for (std::size_t j = 0; j < from.jobs.size(); ++j) {
    const traced_job& when = from.jobs[j];
    traced_job made = from.jobs[chance.below(j, static_cast<std::uint32_t>(from.jobs.size()))];
    made.id = when.id;
    made.deadline = when.submitted + (made.deadline - made.submitted);
    made.submitted = when.submitted;
    out.jobs.push_back(std::move(made));
  }
  return out;
}

// A mean, and between what it lies with 95 % of confidence, by Student's distribution.
struct mean_interval {
  double mean = 0, low = 0, high = 0;
};
inline mean_interval interval_of(const std::vector<double>& of) {
  mean_interval out{mean_of(of), 0, 0};
  const auto count = static_cast<double>(of.size());
  double squares = 0;
  for (const double each : of) squares += (each - out.mean) * (each - out.mean);
  // The quantile by its expansion around that of the normal distribution; three numbers and more.
  const double free = count - 1, z = 1.959964;
  const double t =
      z + (z * z * z + z) / (4 * free) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * free * free);
  const double half = of.size() < 3 ? INFINITY : t * std::sqrt(squares / free / count);
  out.low = out.mean - half;
  out.high = out.mean + half;
  return out;
}

}  // namespace motet
