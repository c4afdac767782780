// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/play/outcome.hpp>
#include <motet/jobs/play/resample.hpp>
#include <motet/meta/config.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A number that tells how a policy did, by the name that it has in the program's JSON.
struct job_measure {
  std::string_view name;
  double (*of)(const job_outcome&);
  bool counts = false;  // it is a whole number
};
inline constexpr job_measure job_measures[] = {
    {"finished", [](const job_outcome& of) { return static_cast<double>(of.finished.size()); }, true},
    {"jct_finished", [](const job_outcome& of) { return mean_of(of.finished); }},
    {"jct_censored", censored_completion},
    {"queue", [](const job_outcome& of) { return mean_of(of.waited); }},
    {"throughput_mean", [](const job_outcome& of) { return mean_of(of.throughput); }},
    {"throughput_peak", [](const job_outcome& of) { return largest_of(of.throughput); }},
    {"utilisation", [](const job_outcome& of) { return mean_of(of.busy); }},
    {"unfairness_mean", [](const job_outcome& of) { return mean_of(of.unfairness); }},
    {"unfairness_worst", [](const job_outcome& of) { return largest_of(of.unfairness); }},
    {"jain", jain_index},
    {"reschedules", [](const job_outcome& of) { return static_cast<double>(of.reschedules); }, true},
    {"in_time", [](const job_outcome& of) { return static_cast<double>(of.in_time); }, true},
};

// Several traces give, for each measure, a number of each trace.
class measured_outcomes {
 public:
  measured_outcomes() : values_(std::size(job_measures)) {}

  void add(const job_outcome& of) {
    for (std::size_t m = 0; m < values_.size(); ++m) values_[m].push_back(job_measures[m].of(of));
  }
  const std::vector<double>& of(std::size_t measure) const { return values_[measure]; }
  mean_interval interval(std::size_t measure) const { return interval_of(values_[measure]); }
  // The interval of the differences to others that played the same traces: what the traces have in common
  // drops out.
  mean_interval difference(std::size_t measure, const measured_outcomes& other) const {
    std::vector<double> more = values_[measure];
    for (std::size_t n = 0; n < more.size(); ++n) more[n] -= other.values_[measure][n];
    return interval_of(more);
  }

 private:
  std::vector<std::vector<double>> values_;
};

}  // namespace motet
