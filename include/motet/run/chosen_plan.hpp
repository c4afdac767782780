// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/ranks/local_ranks.hpp>
#include <motet/plan/describe/cut_apart.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/run/run_settings.hpp>
#include <motet/run/sample_groups.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace motet {

// A chosen plan is the one that a run follows, with what started its ranks.
struct chosen_plan {
  std::string name;   // of the catalogue, or a file
  std::string about;  // empty: a file
  plan value;
  launched by;
};

namespace detail {

// Groups of ranks are asked for where there are several.
inline void require_groups(const plan& of, const run_settings& s) {
  if (s.reorder_groups == 0 || s.reorder_groups >= of.cluster.ranks ||
      sample_groups(of, s.trained().facts(), s.batch, s.reorder_groups) > 1)
    return;
  fail(bad_option_value,
       sentence({"--reorder-groups ", s.reorder_groups, " with --plan ", s.plan, " and --batch ", s.batch,
                 ": replicas reach over all of these groups, so that all ", of.cluster.ranks,
                 " ranks are one; name other ranks for modules, or leave --reorder-groups out"}));
}

inline chosen_plan prove_chosen(const run_settings& s, const named_plan* known) {
  const list<module_facts> facts = s.trained().facts();
  chosen_plan out{s.plan, {}, plan_of(s.plan, facts, s.program->plans), {}};
  if (known != nullptr) out.about = known->about;
  out.value = require_plan(out.value, facts, s.batch);
  if (!s.rows_cross()) {
    require_groups(out.value, s);
    return out;
  }
  // Where rows are to cross between replicas, modules are cut apart.
  out.value = require_plan(cut_apart(out.value, facts, s.batch), facts, s.batch);
  if (!rows_cross(out.value, facts, s.batch))
    fail(bad_option_value,
         sentence({"--reorder modules with --plan ", s.plan, " and --batch ", s.batch,
                   ": no replicas stand apart, so no row can cross; take --reorder all, or other ranks"}));
  require_groups(out.value, s);
  return out;
}

}  // namespace detail

// Proven for the model and the batch; nothing is started yet. A rule that a file breaks is told with the
// file.
inline chosen_plan choose_plan(const run_settings& s) {
  const named_plan* const known = find_plan(s.program->plans, s.plan);
  try {
    return detail::prove_chosen(s, known);
  } catch (const error& broken) {
    if (known != nullptr || std::string_view(broken.what()).find(s.plan) != std::string_view::npos) throw;
    throw error(broken, s.plan);
  }
}

// Says whether a run is spread by a plan. One rank on the threads of one process, the usual case, is not.
inline bool is_spread(const run_settings& s, const launched& by) {
  if (!s.orchestrate.empty()) return true;
  if (s.resplit > 0 && (s.plan.empty() || s.plan == "one"))
    fail(option_missing, "--plan with replicas, between which --resplit moves samples");
  if (s.reorders() && (s.plan.empty() || s.plan == "one"))
    fail(option_missing, "--plan with several ranks, which --reorder " + s.reorder + " gives samples to");
  if (s.conduct && (s.plan.empty() || s.plan == "one"))
    fail(option_missing, "--plan with several ranks, whose scores take turns by --conduct");
  if (!s.plan.empty() && s.plan != "one") return true;
  if (s.ranks == 0 && by.ranks == 1) return false;
  if (s.plan.empty())
    fail(option_missing, "--plan, which says how " + std::to_string(std::max<isize>(s.ranks, by.ranks)) +
                             " ranks share the work (" + describe(by) + ")");
  return true;
}

inline launch_wishes wishes_of(const run_settings& s) {
  launch_wishes wishes;
  wishes.ranks = static_cast<std::int32_t>(s.ranks);
#if !defined(MOTET_HAS_MPI)
  wishes.can_connect = s.device == "cuda";  // NCCL's ranks find each other by TCP
#endif
  wishes.apart = s.device == "cuda";
  if (wishes.apart) wishes.automatic = std::max(1, count_gpus());
  return wishes;
}

// Finds who started the ranks, as many as the plan is for. Without a launcher they are threads.
inline void find_ranks(chosen_plan& of, const run_settings& s) {
  launch_wishes wishes = wishes_of(s);
  of.by = find_launch(read_environment(), wishes);
  if (of.by.by == launcher::none && s.ranks == 0) {
    wishes.ranks = of.value.cluster.ranks;
    of.by = find_launch(read_environment(), wishes);
  }
  if (of.by.ranks != of.value.cluster.ranks)
    fail(plan_of_other_ranks, "plan " + of.name + " is for " + std::to_string(of.value.cluster.ranks) +
                                  " ranks, there are " + std::to_string(of.by.ranks) + " (" +
                                  describe(of.by) + ")");
  // Machines that the plan does not speak of, but the launcher does: ranks fill one after the other.
  if (of.by.nodes > 1 && of.value.cluster.ranks_per_node == 0) {
    of.value.cluster.ranks_per_node = (of.by.ranks + of.by.nodes - 1) / of.by.nodes;
    of.value = require_plan(of.value, s.trained().facts(), s.batch);
  }
}
// Nothing is started here: only what the command line says counts.
inline void check_ranks(const chosen_plan& of, const run_settings& s) {
  if (s.ranks != 0 && s.ranks != of.value.cluster.ranks)
    fail(plan_of_other_ranks, "plan " + of.name + " is for " + std::to_string(of.value.cluster.ranks) +
                                  " ranks, the command line says --ranks " + std::to_string(s.ranks));
}

// The model of the command line, on its device; nothing is taken yet.
inline std::unique_ptr<session> open_session(const run_settings& s, const chosen_plan* by) {
  const trained_model& entry = s.trained();
  session_request wanted = s.request();
  if (by != nullptr) {
    if (s.accumulate != 1)
      fail(bad_option_value, "--plan has microbatches of its own; leave --accumulate out");
    wanted.how = by->value;
    wanted.by = by->by;
    wanted.reorder = s.questions();
  }
  if (s.device == "cuda") return entry.on_gpu(wanted);  // looked for when the command line was read
  if (entry.make == nullptr)
    fail(bad_option_value, "--model " + s.model + ", in a program that was compiled without this model" +
                               (s.program->rebuild != nullptr ? "; " + s.program->rebuild(s.model) : ""));
  return entry.make(wanted);
}

// The catalogue, a line for each.
inline void print_catalogue(std::span<const named_plan> plans) {
  if (plans.empty()) std::printf("%s\n", std::string(plans_of_any_model).c_str());
  for (const named_plan& each : plans) {
    const plan of = each.make();
    std::printf("%-10s %2d %s  %s\n", std::string(each.name).c_str(), of.cluster.ranks,
                of.cluster.ranks == 1 ? "rank " : "ranks", std::string(each.about).c_str());
  }
}

}  // namespace motet
