// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/messages.hpp>
#include <motet/jobs/play/events.hpp>
#include <motet/jobs/play/rounds.hpp>
#include <motet/jobs/policies/crius.hpp>
#include <motet/jobs/policies/elasticflow.hpp>
#include <motet/jobs/policies/fcfs.hpp>
#include <motet/jobs/policies/gandiva.hpp>
#include <motet/jobs/policies/gavel.hpp>
#include <motet/jobs/policies/motet_policy.hpp>
#include <motet/jobs/policies/sia.hpp>
#include <motet/jobs/policies/tiresias.hpp>
#include <motet/meta/nearest.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

inline constexpr std::string_view policy_names[] = {
    "fcfs", "gandiva", "tiresias",        "elasticflow", "elasticflow-ls", "gavel",
    "sia",  "crius",   "crius-deadlines", "motet",       "motet-deadlines"};
inline constexpr std::string_view crius_parts[] = {"types", "scaling", "pruning", "planner"};

// A policy question is what a simulation is asked.
struct policy_question {
  std::string policy = "motet";
  std::vector<std::string> without{};  // parts of crius
  std::int32_t depth = 0;              // of its search; 0: as published
  progress_count count = progress_count::correct;
  isize rounds = 0;              // 0: no rounds where progress is counted correctly, else until all is done
  double until = 0;              // seconds, without rounds; 0: until all is done
  bool published_costs = false;  // of changes, without rounds: by devices and by policy, not by what moves
  state_costs state{};           // else
  double checkpoint = 1800;      // seconds from one to the next
  double noise = 0;              // by which speeds are wrong for policies, until a job ran at them
  std::uint64_t noise_seed = 1;
  failure_rules drawn_failures{};
  std::vector<machine_failure> failures{};  // where there are any, instead of drawn ones
  bool record = false;                      // who had which devices, and when

  bool in_rounds() const { return rounds > 0 || count != progress_count::correct; }
};

struct policy_answer {
  job_outcome outcome;
  bool chooses = false;                // whether the policy solves a programme each time
  double mean_gap = 0, worst_gap = 0;  // of what it solved, to the bound
};

// A policy or a part that there is not is refused (MT-J09).
inline void require_policy(const policy_question& of) {
  const auto among = [](std::string_view name, std::span<const std::string_view> names) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(no_such_policy, std::string(not_among(name, names).view()));
  };
  among(of.policy, policy_names);
  for (const std::string& each : of.without) {
    among(each, crius_parts);
    if (!of.policy.starts_with("crius"))
      fail(no_such_policy, "the policy " + of.policy + " has no part " + each + "; crius has");
  }
}

// A table of times is read as the artifact does, or with errors, where that is asked for.
inline speed_rules speeds_for(const policy_question& of) {
  speed_rules out;
  out.sum_of_five = of.count == progress_count::artifact;
  out.noise = of.noise;
  out.noise_seed = of.noise_seed;
  return out;
}

// Calls `use(policy)` with the named policy, as it is asked for.
template <class Use>
void with_policy(const policy_question& of, Use use) {
  require_policy(of);
  const auto leaves_out = [&](std::string_view part) {
    return std::find(of.without.begin(), of.without.end(), part) != of.without.end();
  };
  if (of.policy == "fcfs") use(fcfs_policy{});
  else if (of.policy == "gandiva") use(gandiva_policy{});
  else if (of.policy == "tiresias") use(tiresias_policy{});
  else if (of.policy == "gavel") use(gavel_policy{});
  else if (of.policy == "sia") use(sia_policy{});
  else if (of.policy == "motet") use(motet_policy{});
  else if (of.policy == "motet-deadlines") use(motet_policy({.late = 0.01}));
  else if (of.policy.starts_with("crius"))
    use(crius_policy({.types = !leaves_out("types"),
                      .scaling = !leaves_out("scaling"),
                      .deadlines = of.policy == "crius-deadlines",
                      .planner = !leaves_out("planner"),
                      .depth = of.depth}));
  else use(elasticflow_policy({.deadlines = of.policy == "elasticflow"}));
}

// Plays the jobs of a world by the named policy; the world is left as it is at the end.
policy_answer play_policy(const policy_question& of, job_world& world);

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY policy_answer play_policy(const policy_question& of, job_world& world) {
  require_policy(of);
  const auto leaves_out = [&](std::string_view part) {
    return std::find(of.without.begin(), of.without.end(), part) != of.without.end();
  };
  const job_cluster& cluster = world.speeds.cluster();
  change_costs costs;
  if (of.policy.starts_with("crius") || of.policy.starts_with("motet"))
    costs = leaves_out("pruning") ? change_costs{300, 1200} : change_costs{10, 40};
  const double far_deadline = of.policy == "elasticflow-ls" ? 1e9 : 0;
  policy_answer out;
  with_policy(of, [&](auto policy) {
    if (of.in_rounds()) {
      round_rules rules;
      rules.count = of.count;
      rules.rounds = of.rounds;
      rules.record = of.record;
      rules.far_deadline = far_deadline;
      rules.costs = costs;
      out.outcome = round_player(world, rules).play(policy);
    } else {
      event_rules rules;
      rules.until = of.until;
      rules.record = of.record;
      rules.far_deadline = far_deadline;
      rules.state = of.state;
      rules.checkpoint = of.checkpoint;
      if (of.published_costs) rules.flat = costs;
      out.outcome = event_player(world, rules)
                        .play(policy, of.failures.empty() ? failure_stream(of.drawn_failures,
                                                                           cluster.devices(), cluster.nodes())
                                                          : failure_stream(of.failures));
    }
    if constexpr (requires { policy.mean_gap(); }) {
      out.chooses = true;
      out.mean_gap = policy.mean_gap();
      out.worst_gap = policy.worst_gap();
    }
  });
  return out;
}
#endif

// Plays a trace by the named policy. In rounds, or where it is asked for, changes cost what the evaluation of
// Crius charges: policies that know the plan beforehand 10 s a device and 40 at most, others 150 and 600.
// Else all pay the same, by what has to move.
// Asks for: times of every model of the trace on the cluster's kinds.
// Memory: the state of each job; with .record, who had which devices in each round.
// Errors: MT-J09, MT-J11
// Example:
//   policy_answer of_sia(const job_cluster& lab, const job_trace& jobs, const iteration_times& times,
//                        const data_parallel_memory& memory) {
//     return play_policy({.policy = "sia"}, lab, jobs, times, memory);
//   }
inline policy_answer play_policy(const policy_question& of, const job_cluster& cluster,
                                 const job_trace& trace, const iteration_times& times,
                                 const data_parallel_memory& memory) {
  job_world world(cluster, trace, times, memory, speeds_for(of));
  return play_policy(of, world);
}

}  // namespace motet
