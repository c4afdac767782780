// SPDX-License-Identifier: Apache-2.0

// Decides which job gets which devices: plays a trace on a cluster of several kinds of devices by one of
// eleven policies, and tells how long jobs took, as text, as JSON or as a page, or writes for Slurm, Kueue or
// Fluxion what is decided at one time, or decides by what it is told as things happen.
#include "schedule_jobs/answer.hpp"
#include "schedule_jobs/emit.hpp"
#include "schedule_jobs/inputs.hpp"
#include "schedule_jobs/page.hpp"
#include "schedule_jobs/settings.hpp"
#include "schedule_jobs/watch.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <chrono>
#include <exception>
#include <new>

namespace motet::schedule_jobs {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// The publication counts jobs that Crius finishes and this policy does not with the longest time of this
// policy, of Crius and of first come, first served.
double padded(const answer& of, const iteration_times& times, const data_parallel_memory& memory) {
  const job_outcome& own = of.played.outcome;
  double longest = largest_of(own.finished);
  std::size_t wanted = own.finished.size();
  for (const char* other : {"crius", "fcfs"}) {
    if (of.asked.asked.policy == other && of.asked.asked.without.empty()) continue;
    policy_question asked = of.asked.asked;
    asked.policy = other;
    asked.without.clear();
    asked.depth = 0;
    asked.record = false;
    const job_outcome played = play_policy(asked, of.cluster, of.trace, times, memory).outcome;
    longest = std::max(longest, largest_of(played.finished));
    if (asked.policy == "crius") wanted = std::max(wanted, played.finished.size());
  }
  return padded_completion(own, wanted, longest);
}

answer find(const settings& given) {
  const auto began = std::chrono::steady_clock::now();
  answer of;
  const inputs from = read_inputs(given);
  of.asked = given;
  of.asked.asked = from.asked;
  of.cluster = from.cluster;
  of.trace = from.trace;
  const iteration_times& times = from.times;
  const data_parallel_memory& memory = from.memory;
  of.played = play_policy(of.asked.asked, of.cluster, of.trace, times, memory);
  of.seconds = seconds_since(began);
  of.padded = padded(of, times, memory);
  of.others.resize(given.against.size());
  of.longer.resize(given.against.size());
  for (isize n = 0; n < given.resamples; ++n) {
    policy_question asked = of.asked.asked;
    asked.record = false;
    const job_trace drawn = resample(of.trace, static_cast<std::uint64_t>(n + 1));
    const job_outcome own = play_policy(asked, of.cluster, drawn, times, memory).outcome;
    of.drawn.add(own);
    asked.without.clear();
    asked.depth = 0;
    for (std::size_t o = 0; o < of.others.size(); ++o) {
      asked.policy = given.against[o];
      const job_outcome other = play_policy(asked, of.cluster, drawn, times, memory).outcome;
      of.others[o].add(other);
      of.longer[o].push_back(longer_than(own, other));
    }
  }
  return of;
}

std::string names_of_clusters() {
  std::string out;
  for (const job_cluster& each : known_job_clusters()) {
    out += each.name + ":";
    for (const device_group& kind : each.kinds)
      out += " " + kind.kind + " " + std::to_string(kind.nodes) + "x" + std::to_string(kind.per_node);
    out += "\n";
  }
  return out;
}

std::string text_for(const settings& given) {
  if (given.list_clusters) return names_of_clusters();
  if (given.list_policies) {
    std::string out;
    for (const std::string_view each : policy_names) out += std::string(each) + "\n";
    return out;
  }
  const answer of = find(given);
  if (given.emit == "json") return write_json(json_of(of), 2) + "\n";
  return given.emit == "html" ? page_of(of) : text_of(of);
}

void put(const settings& given, const std::string& text) {
  if (!given.output.empty()) return write_file(given.output, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(file_unwritable, "standard output");
}

int run(int count, const char* const* words) {
  try {
    settings given;
    if (!read_settings(count, words, given)) return 0;
    if (!given.watch.empty()) return watch(given, read_inputs(given));
    if (given.for_cluster()) put_files(given.output, files_for(given, read_inputs(given)));
    else put(given, text_for(given));
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem, "schedule_jobs");
  }
}

}  // namespace
}  // namespace motet::schedule_jobs

int main(int count, char** words) { return motet::schedule_jobs::run(count, words); }
