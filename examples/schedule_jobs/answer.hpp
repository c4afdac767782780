// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/format/json_write.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace motet::schedule_jobs {

// What was played, and its numbers.
struct answer {
  settings asked;
  job_cluster cluster;
  job_trace trace;
  policy_answer played;
  double padded = 0;   // mean completion time, as the evaluation of Crius counts jobs that did not finish
  double seconds = 0;  // that the program took for the policy
  // Of traces that were drawn from this one.
  mean_interval finished{}, completion{}, censored{}, throughput{};
};

inline json json_of(const answer& of) {
  const job_outcome& out = of.played.outcome;
  json made;
  made.set("policy", of.asked.asked.policy);
  made.set("cluster", of.cluster.name);
  made.set("mode", of.asked.asked.count == progress_count::artifact ? "artifact" : "correct");
  made.set("rounds", static_cast<index>(out.throughput.size()));
  made.set("submitted", out.submitted);
  made.set("finished", static_cast<index>(out.finished.size()));
  made.set("jct_finished", mean_of(out.finished));
  made.set("jct_padded", of.padded);
  made.set("jct_censored", censored_completion(out));
  made.set("queue", mean_of(out.waited));
  made.set("throughput_mean", mean_of(out.throughput));
  made.set("throughput_peak", largest_of(out.throughput));
  made.set("utilisation", mean_of(out.busy));
  made.set("reschedules", out.reschedules);
  made.set("in_time", out.in_time);
  if (of.played.chooses) {
    made.set("gap_mean", of.played.mean_gap);
    made.set("gap_worst", of.played.worst_gap);
  }
  if (of.asked.resamples > 0) {
    json drawn;
    drawn.set("traces", of.asked.resamples);
    const auto put = [&](const char* name, const mean_interval& is) {
      drawn.set(name, json{{"mean", is.mean}, {"low", is.low}, {"high", is.high}});
    };
    put("finished", of.finished);
    put("jct_finished", of.completion);
    put("jct_censored", of.censored);
    put("throughput_mean", of.throughput);
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
  const auto interval = [&](const char* what, const mean_interval& is, const char* unit) {
    if (of.asked.resamples > 0)
      made.push_back({what, whole(is.mean, unit) + ", " + whole(is.low, "") + " to " + whole(is.high, "")});
  };
  interval("drawn traces: finished", of.finished, "jobs");
  interval("drawn traces: completion time, finished", of.completion, "s");
  interval("drawn traces: with censored jobs", of.censored, "s");
  interval("drawn traces: throughput", of.throughput, "samples/s");
  return made;
}
inline std::string heading(const answer& of) {
  return of.asked.asked.policy + " on " + of.cluster.name + ", " + std::to_string(of.cluster.devices()) +
         " devices, " + std::to_string(of.played.outcome.throughput.size()) + " rounds";
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
