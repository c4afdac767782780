// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

// A job had a device from one second of the simulation to another.
struct device_span {
  std::int32_t job = 0, device = 0;
  double from = 0, to = 0;
};

// An outcome is what a policy made of a trace. Times are seconds, throughput is samples a second, summed over
// all jobs.
struct job_outcome {
  isize submitted = 0, reschedules = 0, in_time = 0;
  isize failures = 0, lost = 0;  // of nodes, and how often a job ran on one
  double redone = 0;             // seconds of jobs that were done since the last checkpoint, and lost
  double began = 0, lasted = 0;
  double bin = 300;                 // seconds of which each number of the curves is the mean
  std::vector<double> finished;     // from the submission to the end, in the order of their ends
  std::vector<std::int32_t> ended;  // which jobs those are
  std::vector<double> unfinished;   // from the submission until the simulation stopped
  std::vector<double> waited;       // of the finished, then of the others
  std::vector<double> unfairness;   // of the finished: the time that it took for that of a fair share
  std::vector<double> throughput, queue, busy;  // bin by bin
  std::vector<device_span> spans;               // where they were asked for
};

inline double mean_of(const std::vector<double>& of) {
  double sum = 0;
  for (const double each : of) sum += each;
  return of.empty() ? 0 : sum / static_cast<double>(of.size());
}
inline double largest_of(const std::vector<double>& of) {
  return of.empty() ? 0 : *std::max_element(of.begin(), of.end());
}

// Jobs took so much longer than under another policy, in the mean over those that both finished: means of
// different jobs are not compared.
inline double longer_than(const job_outcome& of, const job_outcome& other) {
  std::vector<double> took;  // under the other, by job
  for (std::size_t i = 0; i < other.ended.size(); ++i) {
    took.resize(std::max(took.size(), as_size(other.ended[i]) + 1), -1);
    took[as_size(other.ended[i])] = other.finished[i];
  }
  double more = 0, count = 0;
  for (std::size_t i = 0; i < of.ended.size(); ++i)
    if (const std::size_t job = as_size(of.ended[i]); job < took.size() && took[job] >= 0)
      more += of.finished[i] - took[job], ++count;
  return count > 0 ? more / count : 0;
}

// Jain's index says how equally something is shared: 1 where all have the same, 1/n where one of n has all.
// Here that is the speeds of jobs, each as a share of what a fair share would give.
inline double jain_index(const job_outcome& of) {
  double sum = 0, squares = 0;
  for (const double each : of.unfairness) sum += 1 / each, squares += 1 / (each * each);
  return squares > 0 ? sum * sum / (static_cast<double>(of.unfairness.size()) * squares) : 0;
}

// The mean time to completion as the evaluation of Crius counts it: jobs that `wanted` says another policy
// finished, and this one did not, count with the largest time of all.
inline double padded_completion(const job_outcome& of, std::size_t wanted, double largest) {
  std::vector<double> all = of.finished;
  while (all.size() < wanted) all.push_back(largest);
  return mean_of(all);
}

// The mean time to completion of all jobs, where those that are not finished are known to take longer than
// they have: the area under the estimate of Kaplan and Meier, up to the longest time that was seen. A bound
// from below, as nothing is known beyond it.
inline double censored_completion(const job_outcome& of) {
  struct seen {
    double time;
    bool ended;
  };
  std::vector<seen> all;
  all.reserve(of.finished.size() + of.unfinished.size());
  for (const double each : of.finished) all.push_back({each, true});
  for (const double each : of.unfinished) all.push_back({each, false});
  std::sort(all.begin(), all.end(), [](const seen& a, const seen& b) {
    return a.time != b.time ? a.time < b.time : a.ended && !b.ended;
  });
  double alive = 1, area = 0, from = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    area += alive * (all[i].time - from);
    from = all[i].time;
    if (all[i].ended) alive *= 1 - 1 / static_cast<double>(all.size() - i);
  }
  return area;
}

}  // namespace motet
