// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/jobs/files/cluster_file.hpp>
#include <motet/jobs/play/measures.hpp>
#include <motet/jobs/policies/policies.hpp>
#include <motet/jobs/watch/journal.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace motet::schedule_jobs {

// The command line of schedule_jobs.
struct settings {
  std::string trace, cluster, times, models, memory, failures, emit = "text", output, site, watch, socket,
                                                               clock = "wall";
  std::vector<std::string> against;
  std::vector<kind_name> stand_in;
  policy_question asked;
  isize resamples = 0, journal_bytes = usual_journal_bytes;
  bool list_clusters = false, list_policies = false;

  // Says whether files for a real cluster are asked for.
  bool for_cluster() const { return emit == "slurm" || emit == "kueue" || emit == "fluxion"; }
};

inline job_cluster choose_cluster(const std::string& name) {
  std::string known;
  for (const job_cluster& each : known_job_clusters()) {
    if (each.name == name) return each;
    known += (known.empty() ? "" : ", ") + each.name;
  }
  if (!name.ends_with(".json")) fail(no_such_job_cluster, "got \"" + name + "\", there are " + known);
  return read_job_cluster(read_text(name), name);
}

// The result is false when --help was asked for and printed.
inline bool read_settings(int count, const char* const* words, settings& to) {
  std::string mode = "correct", changes = "state";
  isize depth = 0;
  std::vector<std::string> kinds_as;
  std::uint64_t seed = 1;
  double between_devices = 0, between_nodes = 0, repair = 2, checkpoint = 0.5, hours = 0;
  std::vector<std::string> names(std::begin(policy_names), std::end(policy_names));
  options line(
      "schedule_jobs",
      "plays a trace of training jobs on a cluster of several kinds of devices, and tells what a policy "
      "makes of it");
  line.text("--trace", to.trace, "FILE.csv",
            "jobs: when each was submitted, what it trains, what it asks for");
  line.text("--cluster", to.cluster, "NAME|FILE.json", "nodes and kinds of devices; --list-clusters");
  line.texts(
      "--kind-as", kinds_as, "KIND=KIND",
      "a kind of device in the trace, and the cluster's that stands for it; may be given several times");
  line.text("--times", to.times, "FILE.csv|cells",
            "seconds of an iteration of each model, by kind and number of devices; cells: as the library "
            "estimates them");
  line.text("--models", to.models, "FILE.json", "what the names of models stand for, for --times cells");
  line.text("--memory", to.memory, "FILE.json",
            "gigabytes of a device under data parallelism, by model; without it all is thought to fit");
  line.choice("--policy", to.asked.policy, names, "who decides");
  line.choice(
      "--mode", mode, {"correct", "uncharged", "artifact"},
      "how progress is counted: the integral of a job's speed, the same without what changes take, or as "
      "the artifact of Crius does; the last two in rounds");
  line.count(
      "--rounds", to.asked.rounds, 0,
      "rounds of 300 s to play, in which policies are asked; 0: when something happens, until all is done");
  line.real("--hours", hours, 0, 1e9, "to play, without rounds; 0: until all is done");
  line.choice("--changes", changes, {"state", "published"},
              "what a change takes, without rounds: by the state that moves, or by devices as published");
  line.real("--device-hours", between_devices, 0, 1e9,
            "between two failures of one device, in the mean; 0: none");
  line.real("--node-hours", between_nodes, 0, 1e9, "between two failures of one node, in the mean; 0: none");
  line.real("--repair-hours", repair, 0, 1e9, "until a node is repaired, in the mean");
  line.count("--seed", seed, "by which failures and errors of estimates are drawn");
  line.real("--noise", to.asked.noise, 0, 1,
            "by which estimates of speed are wrong, as deviation of their logarithm, until a job ran so");
  line.text("--failures", to.failures, "FILE.csv", "which nodes fail when, instead of drawn failures");
  line.real("--checkpoint-hours", checkpoint, 0, 1e9, "from one checkpoint of a job to the next");
  line.count("--depth", depth, 0, 6, "steps of making room for one job, of crius; 0: as published");
  line.texts("--without", to.asked.without, "PART",
             "of crius: types, scaling, pruning or planner; may be given several times");
  line.count("--resample", to.resamples, 0, 1000,
             "traces that are drawn from this one and played as well, for intervals of the means");
  line.texts(
      "--against", to.against, "POLICY",
      "plays the drawn traces by this one, too, and tells the differences; may be given several times");
  line.choice(
      "--emit", to.emit, {"text", "json", "html", "slurm", "kueue", "fluxion"},
      "numbers, numbers with names, a page with who had which devices, queue and throughput, or files "
      "by which a cluster runs what is decided after --hours");
  line.text("--output", to.output, "FILE|FOLDER", "write there instead of standard output");
  line.text("--site", to.site, "FILE.json", "how that cluster calls kinds, nodes, queues and programs");
  line.text(
      "--watch", to.watch, "DIR",
      "instead of a trace: takes lines of what happens from DIR/*.events as they come, and writes changes");
  line.text("--socket", to.socket, "PATH",
            "with --watch: also takes lines from a socket that it makes there");
  line.choice("--clock", to.clock, {"wall", "lines"},
              "with --watch: when things happen is now, or told by lines");
  line.count("--journal-bytes", to.journal_bytes, 1,
             "with --watch: written behind its state, with which the journal then begins anew");
  line.flag("--list-clusters", to.list_clusters, "print the clusters that have names, and stop");
  line.flag("--list-policies", to.list_policies, "print the policies, and stop");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return false;
  }
  if (to.list_clusters || to.list_policies) return true;
  if (to.watch.empty() || to.times == "cells") line.require("--trace");
  for (const char* needed : {"--cluster", "--times"}) line.require(needed);
  if (to.times == "cells") line.require("--models");
  else if (!to.models.empty())
    fail(bad_option_value, "--models wants --times cells, got --times " + to.times);
  to.asked.count = mode == "artifact"    ? progress_count::artifact
                   : mode == "uncharged" ? progress_count::uncharged
                                         : progress_count::correct;
  for (const std::string& each : kinds_as) {
    const std::size_t at = each.find('=');
    if (at == 0 || at == each.npos || at + 1 == each.size())
      fail(bad_option_value, "--kind-as wants KIND=KIND, got " + each);
    to.stand_in.push_back({each.substr(0, at), each.substr(at + 1)});
  }
  to.asked.noise_seed = seed;
  to.asked.until = 3600 * hours;
  to.asked.published_costs = changes == "published";
  to.asked.checkpoint = 3600 * checkpoint;
  to.asked.drawn_failures = {3600 * between_devices, 3600 * between_nodes, 3600 * repair, seed};
  to.asked.depth = static_cast<std::int32_t>(depth);
  to.asked.record = to.emit == "html";
  require_policy(to.asked);
  for (const std::string& each : to.against) require_policy({.policy = each});
  const bool fails = between_devices > 0 || between_nodes > 0 || !to.failures.empty();
  if (to.asked.in_rounds() && (hours > 0 || fails || to.asked.published_costs))
    fail(bad_option_value,
         "rounds have no --hours, no failures and only published costs; leave out --rounds, and take --mode "
         "correct");
  if (to.for_cluster() && (to.output.empty() || hours == 0 || to.asked.in_rounds()))
    fail(bad_option_value,
         "--emit " + to.emit +
             " wants --output FOLDER and --hours, behind which somebody runs, and no rounds");
  if (!to.site.empty() && !to.for_cluster() && to.watch.empty())
    fail(bad_option_value, "--site wants --watch, or --emit slurm, kueue or fluxion, got --emit " + to.emit);
  if (to.watch.empty() ? !to.socket.empty() || to.clock != "wall" || to.journal_bytes != usual_journal_bytes
                       : to.for_cluster() || fails || to.asked.in_rounds() || to.asked.noise > 0)
    fail(bad_option_value,
         "--socket, --clock and --journal-bytes want --watch, which wants no --emit, no rounds, no failures "
         "and no --noise");
  if (!to.against.empty() && to.resamples == 0)
    fail(bad_option_value, "--against wants --resample with 3 traces at least, got none");
  if (to.resamples == 1 || to.resamples == 2)
    fail(bad_option_value, "--resample wants 3 traces at least, or 0, got " + std::to_string(to.resamples));
  if (depth > 0 && to.asked.policy != "crius")
    fail(bad_option_value, "--depth wants --policy crius, got " + to.asked.policy);
  return true;
}

}  // namespace motet::schedule_jobs
