// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/format/text/json_write.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace motet::schedule_jobs {

// An answer has what was played, and its numbers.
struct answer {
  settings asked;
  job_cluster cluster;
  job_trace trace;
  policy_answer played;
  double padded = 0;   // mean completion time, as the evaluation of Crius counts jobs that did not finish
  double seconds = 0;  // that the program took for the policy
  measured_outcomes drawn;                  // of traces that were drawn from this one
  std::vector<measured_outcomes> others;    // of the same traces, of each policy to compare with
  std::vector<std::vector<double>> longer;  // of each of them and trace: on jobs that both policies finish
};

inline json json_of(const answer& of) {
  const job_outcome& out = of.played.outcome;
  json made;
  made.set("policy", of.asked.asked.policy);
  made.set("cluster", of.cluster.name);
  constexpr const char* modes[] = {"correct", "uncharged", "artifact"};
  made.set("mode", modes[static_cast<int>(of.asked.asked.count)]);
  made.set("rounds", of.asked.asked.in_rounds() ? static_cast<isize>(out.throughput.size()) : 0);
  made.set("lasted", out.lasted);
  made.set("submitted", out.submitted);
  for (const job_measure& each : job_measures) {
    const double is = each.of(out);
    made.set(std::string(each.name), each.counts ? json(std::llround(is)) : json(is));
  }
  made.set("jct_padded", of.padded);
  if (out.failures > 0) {
    made.set("failures", out.failures);
    made.set("lost", out.lost);
    made.set("redone", out.redone);
  }
  if (of.played.chooses) {
    made.set("gap_mean", of.played.mean_gap);
    made.set("gap_worst", of.played.worst_gap);
  }
  if (of.asked.resamples > 0) {
    json drawn;
    drawn.set("traces", of.asked.resamples);
    const auto put = [](json& to, std::size_t measure, const mean_interval& is) {
      to.set(std::string(job_measures[measure].name),
             json{{"mean", is.mean}, {"low", is.low}, {"high", is.high}});
    };
    for (std::size_t m = 0; m < std::size(job_measures); ++m) put(drawn, m, of.drawn.interval(m));
    json against;
    for (std::size_t o = 0; o < of.others.size(); ++o) {
      json more;
      for (std::size_t m = 0; m < std::size(job_measures); ++m)
        put(more, m, of.drawn.difference(m, of.others[o]));
      const mean_interval both = interval_of(of.longer[o]);
      more.set("jct_both", json{{"mean", both.mean}, {"low", both.low}, {"high", both.high}});
      against.set(of.asked.against[o], std::move(more));
    }
    if (!of.others.empty()) drawn.set("more_than", std::move(against));
    made.set("resampled", std::move(drawn));
  }
  made.set("out_of_order", of.trace.out_of_order);
  made.set("seconds", of.seconds);
  return made;
}

// "36,486 s".
inline std::string whole(double value, const char* unit) {
  std::string digits = std::to_string(std::llround(value));
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits + (*unit != '\0' ? " " : "") + unit;
}
inline std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * share);
  return text;
}

struct line_of {
  std::string what, is;
};
inline std::vector<line_of> lines_of(const answer& of) {
  const job_outcome& out = of.played.outcome;
  std::vector<line_of> made{
      {"finished",
       whole(static_cast<double>(out.finished.size()), "of") + " " + std::to_string(out.submitted)},
      {"mean completion time, finished jobs", whole(mean_of(out.finished), "s")},
      {"padded as published", whole(of.padded, "s")},
      {"with unfinished jobs as censored", "at least " + whole(censored_completion(out), "s")},
      {"mean time in the queue", whole(mean_of(out.waited), "s")},
      {"throughput, mean", whole(mean_of(out.throughput), "samples/s")},
      {"throughput, peak", whole(largest_of(out.throughput), "samples/s")},
      {"devices in use", percent(mean_of(out.busy))},
      {"started, moved or resized", whole(static_cast<double>(out.reschedules), "times")},
      {"finished before their deadlines", whole(static_cast<double>(out.in_time), "")}};
  if (of.played.chooses)
    made.push_back({"gap to the best choice, at most",
                    percent(of.played.mean_gap) + " in the mean, " + percent(of.played.worst_gap) + " once"});
  if (out.failures > 0) {
    made.push_back({"failures of nodes", whole(static_cast<double>(out.failures), "")});
    made.push_back({"jobs that lost devices", whole(static_cast<double>(out.lost), "times") + ", " +
                                                  whole(out.redone, "s") + " done again"});
  }
  if (!out.unfairness.empty()) {
    char text[96];
    std::snprintf(text, sizeof text, "%.2f in the mean, %.1f at most; Jain's index of speeds %.3f",
                  mean_of(out.unfairness), largest_of(out.unfairness), jain_index(out));
    made.push_back({"time for that of a fair share", text});
  }
  if (of.asked.resamples == 0) return made;
  const auto interval = [](const mean_interval& is) {
    char text[96];
    std::snprintf(text, sizeof text, "%.6g, %.6g to %.6g", is.mean, is.low, is.high);
    return std::string(text);
  };
  for (std::size_t o = 0; o < of.others.size(); ++o)
    made.push_back({"drawn traces: jct of jobs that " + of.asked.against[o] + " finishes, too, more by",
                    interval(interval_of(of.longer[o]))});
  for (std::size_t m = 0; m < std::size(job_measures); ++m) {
    const std::string name(job_measures[m].name);
    made.push_back({"drawn traces: " + name, interval(of.drawn.interval(m))});
    for (std::size_t o = 0; o < of.others.size(); ++o)
      made.push_back({"  more than " + of.asked.against[o], interval(of.drawn.difference(m, of.others[o]))});
  }
  return made;
}
inline std::string heading(const answer& of) {
  return of.asked.asked.policy + " on " + of.cluster.name + ", " + std::to_string(of.cluster.devices()) +
         " devices, " +
         (of.asked.asked.in_rounds() ? std::to_string(of.played.outcome.throughput.size()) + " rounds"
                                     : whole(of.played.outcome.lasted / 3600, "hours"));
}
inline std::string text_of(const answer& of) {
  std::string out = heading(of) + "\n\n";
  std::size_t widest = 0;
  const std::vector<line_of> lines = lines_of(of);
  for (const line_of& each : lines) widest = std::max(widest, each.what.size());
  for (const line_of& each : lines)
    out += each.what + std::string(widest + 2 - each.what.size(), ' ') + each.is + "\n";
  return out;
}

}  // namespace motet::schedule_jobs
