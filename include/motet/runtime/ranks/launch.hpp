// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace motet {

// Launchers stand in the order in which they are believed: what was started last knows best, and a pod began
// before what runs in it. elastic: PyTorch's variables for a node, as Kubeflow sets them; kubernetes: an
// indexed job.
enum class launcher : std::uint8_t { torchrun, open_mpi, pmix, slurm, elastic, jax, kubernetes, none };

constexpr const char* name_of(launcher which) {
  constexpr const char* names[] = {"torchrun",        "Open MPI", "PMIx",       "Slurm",
                                   "PyTorch elastic", "JAX",      "Kubernetes", "no launcher"};
  return names[static_cast<int>(which)];
}

// `by` says what started this process, the rest as what.
struct launched {
  launcher by = launcher::none;
  std::int32_t rank = 0;        // of this process, or of its first thread
  std::int32_t ranks = 1;       // of the whole program
  std::int32_t local_rank = 0;  // among those on this machine
  std::int32_t nodes = 1;       // machines; 0: nobody said
  std::int32_t threads = 1;     // ranks that are threads of this process
  std::int32_t to_start = 0;    // processes that this one has to start: front/ranks/local_ranks.hpp
  std::string why;              // the variables that were believed
};

struct launch_wishes {
  std::int32_t ranks = 0;  // of --ranks; 0: whatever the launcher says
  bool processes = false;  // threads will not do
  // whether the program was built with something that carries messages between processes
  bool can_connect = true;
  // Where a launcher leaves the ranks of a machine to one process, this says whether they are processes, with
  // a GPU each, and not threads; and how many they are where it says "auto".
  bool apart = false;
  std::int32_t automatic = 1;
};

using environment = std::map<std::string, std::string, std::less<>>;

inline environment read_environment() {
  environment all;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view line = *each;
    const std::size_t sign = line.find('=');
    if (sign != std::string_view::npos) all.emplace(line.substr(0, sign), line.substr(sign + 1));
  }
  return all;
}

namespace detail::launching {

inline constexpr std::int32_t unknown = -1;

// The first of each that is set counts.
struct variables {
  launcher by;
  std::array<const char*, 3> rank, ranks, local_rank, nodes, local_ranks;
};
inline constexpr variables known[] = {
    {launcher::torchrun,
     {"RANK"},
     {"WORLD_SIZE"},
     {"LOCAL_RANK"},
     {"GROUP_WORLD_SIZE"},
     {"LOCAL_WORLD_SIZE"}},
    {launcher::open_mpi,
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_RANK"},
     {"OMPI_MCA_orte_num_nodes"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {launcher::pmix, {"PMIX_RANK", "PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, {}, {"MPI_LOCALNRANKS"}},
    {launcher::slurm,
     {"SLURM_PROCID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     {"SLURM_LOCALID"},
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
     {}},
    {launcher::elastic, {"PET_NODE_RANK", "JOB_COMPLETION_INDEX"}, {"PET_NNODES"}, {}, {}, {}},
    {launcher::jax, {"JAX_PROCESS_ID"}, {"JAX_NUM_PROCESSES"}, {}, {}, {}},
    {launcher::kubernetes, {"JOB_COMPLETION_INDEX"}, {"WORLD_SIZE"}, {}, {}, {}},
};

inline std::int32_t read(const environment& of, const std::array<const char*, 3>& names, std::string& why) {
  for (const char* const name : names) {
    if (name == nullptr) break;
    const auto found = of.find(name);
    if (found == of.end()) continue;
    const std::string& text = found->second;
    std::int32_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size() || value < 0)
      fail(launch_not_a_number, std::string(name) + "=" + text);
    why += (why.empty() ? "" : ", ") + std::string(name) + "=" + text;
    return value;
  }
  return unknown;
}

// Reads what one launcher says; by == none when it says nothing.
inline launched claim(const environment& of, const variables& names) {
  launched it;
  // Within a job of Slurm, but not started by srun, these are about the script that runs, which is alone.
  if (names.by == launcher::slurm && of.contains("SLURM_JOB_ID") && !of.contains("SLURM_STEP_ID") &&
      !of.contains("SLURM_STEPID"))
    return it;
  // A pod of an indexed job is a run of its own, unless somebody says how many belong together.
  if (names.by == launcher::kubernetes && (of.contains("RANK") || !of.contains("WORLD_SIZE"))) return it;
  if (names.by == launcher::elastic && !of.contains("PET_NNODES") && !of.contains("PET_NODE_RANK")) return it;
  it.rank = read(of, names.rank, it.why);
  it.ranks = read(of, names.ranks, it.why);
  const bool strict = names.by != launcher::pmix && names.by != launcher::slurm &&
                      !(names.by == launcher::torchrun && of.contains("JOB_COMPLETION_INDEX"));
  if (it.rank == unknown && it.ranks != unknown && strict)
    fail(launch_incomplete, it.why + ", but no " + names.rank[0]);
  if (it.rank == unknown) return {};
  if (it.ranks == unknown && names.by != launcher::pmix)
    fail(launch_incomplete, it.why + ", but no " + names.ranks[0]);
  it.by = names.by;
  it.local_rank = read(of, names.local_rank, it.why);
  it.nodes = read(of, names.nodes, it.why);
  const std::int32_t neighbours = read(of, names.local_ranks, it.why);
  if ((it.ranks != unknown && it.rank >= it.ranks) || (neighbours != unknown && it.local_rank >= neighbours))
    fail(launch_not_a_number, it.why + ": ranks count from 0");
  // One process for each machine, or pod.
  if (it.by >= launcher::elastic) {
    it.local_rank = 0;
    it.nodes = it.ranks;
  }
  if (it.nodes == unknown)
    it.nodes = neighbours > 0 && it.ranks != unknown ? (it.ranks + neighbours - 1) / neighbours : 0;
  if (it.local_rank == unknown) it.local_rank = it.rank;
  return it;
}

[[noreturn]] inline void disagree(const launched& a, const launched& b) {
  fail(launchers_disagree,
       std::string(name_of(a.by)) + " says " + a.why + "; " + name_of(b.by) + " says " + b.why);
}

// PMIx is how Open MPI and Slurm talk to their ranks: with one of them there, the two are one launcher.
inline void merge_pmix(std::vector<launched>& claims) {
  const auto pmix = std::find_if(claims.begin(), claims.end(),
                                 [](const launched& each) { return each.by == launcher::pmix; });
  if (pmix == claims.end()) return;
  if (pmix != claims.begin() && (pmix - 1)->by == launcher::open_mpi) {
    if (pmix->rank != (pmix - 1)->rank) disagree(*(pmix - 1), *pmix);
    claims.erase(pmix);
  } else if (pmix + 1 != claims.end() && (pmix + 1)->by == launcher::slurm) {
    if (pmix->rank != (pmix + 1)->rank) disagree(*pmix, *(pmix + 1));
    (pmix + 1)->by = launcher::pmix;
    (pmix + 1)->why = pmix->why + ", " + (pmix + 1)->why;
    claims.erase(pmix);
  } else if (pmix->ranks == unknown) {
    if (claims.size() == 1)
      fail(launch_incomplete, pmix->why + ", but nothing says how many ranks there are");
    const launched& other = pmix == claims.begin() ? *(pmix + 1) : claims.front();
    if (pmix->rank != other.rank) disagree(other, *pmix);
    claims.erase(pmix);
  }
}

// The ranks of each machine, of which the launcher started one process.
inline void add_local_ranks(launched& it, const environment& of, const launch_wishes& wishes) {
  constexpr std::array<const char*, 3> name{"PET_NPROC_PER_NODE"};
  const auto said = of.find(name[0]);
  if (said == of.end()) return;
  std::int32_t local = wishes.automatic;
  if (said->second == "auto" || said->second == "gpu" || said->second == "cpu")
    it.why += std::string(", ") + name[0] + "=" + said->second;
  else local = read(of, name, it.why);
  if (local < 1 || it.ranks > std::numeric_limits<std::int32_t>::max() / local)
    fail(launch_not_a_number, it.why + ": wanted at least one rank on each machine, and not too many");
  it.rank *= local;
  it.ranks *= local;
  if (local == 1) return;
  if (it.nodes == 1 && !wishes.apart && !wishes.processes) it.threads = local;
  else it.to_start = local;
}

// Says why nobody is believed. A script that Slurm runs is its task 0; another number comes from a step,
// whose other processes would each take itself for the whole run.
inline std::string why_none(const environment& of) {
  if (!of.contains("SLURM_JOB_ID")) return "no variable of a launcher is set";
  std::string why;
  if (read(of, {"SLURM_PROCID"}, why) > 0)
    fail(launch_incomplete, why + ", but no SLURM_STEP_ID: srun sets both, and who runs alone is 0");
  return "in a job of Slurm, but not started by srun: no SLURM_STEP_ID is set";
}

}  // namespace detail::launching

// Works out from the variables of launchers what this process is. Launchers that disagree, and half of what
// is needed, are errors: a wrong belief would be a hang later.
inline launched find_launch(const environment& of, const launch_wishes& wishes = {}) {
  namespace from = detail::launching;
  std::vector<launched> claims;
  for (const from::variables& each : from::known)
    if (launched it = from::claim(of, each); it.by != launcher::none) claims.push_back(std::move(it));
  from::merge_pmix(claims);
  for (std::size_t c = 1; c < claims.size(); ++c) {
    // The same, or the outer one only started the inner one once on each machine.
    const launched &inner = claims[0], &outer = claims[c];
    if ((inner.rank != outer.rank || inner.ranks != outer.ranks) && outer.ranks > inner.nodes)
      from::disagree(inner, outer);
  }
  launched it = claims.empty() ? launched{} : claims.front();
  if (it.by == launcher::elastic) from::add_local_ranks(it, of, wishes);
  if (it.by == launcher::none) it.why = from::why_none(of);

  if (wishes.ranks > 0 && it.ranks == 1 && !wishes.processes) {
    it.ranks = it.threads = wishes.ranks;
    it.why += ", --ranks " + std::to_string(wishes.ranks);
  } else if (it.by == launcher::none && (wishes.processes || wishes.ranks > 1)) {
    fail(launcher_missing, it.why);
  } else if (wishes.ranks > 0 && wishes.ranks != it.ranks) {
    fail(launchers_disagree,
         sentence({name_of(it.by), " says ", it.why, "; the command line says --ranks ", wishes.ranks}));
  }
  if (it.ranks > it.threads && !wishes.can_connect)
    fail(launch_without_mpi, std::string(name_of(it.by)) + " says " + it.why);
  return it;
}

// One line for the start of a run.
inline std::string describe(const launched& it) {
  std::string text = std::string(name_of(it.by)) + ": ";
  if (it.threads > 1) text += std::to_string(it.threads) + " ranks as threads of one process";
  else if (it.to_start > 1)
    text += sentence({"ranks ", it.rank, " to ", it.rank + it.to_start - 1, " of ", it.ranks});
  else text += sentence({"rank ", it.rank, " of ", it.ranks});
  if (it.ranks > it.threads) {
    if (it.to_start == 0) text += sentence({", number ", it.local_rank, " on its machine"});
    else text += ", as processes of a machine";
    if (it.nodes > 0) text += " of " + std::to_string(it.nodes);
  }
  return text + " (" + it.why + ")";
}

// Tells how often this job was started again, where a launcher says so; empty: never, or nobody does.
inline std::string describe_restart(const environment& of) {
  for (const char* const name : {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}) {
    std::string why;
    const std::int32_t times = detail::launching::read(of, {name}, why);
    if (times > 0)
      return sentence({"started again ", times, (times == 1 ? " time (" : " times ("), why, ")"});
  }
  return {};
}

}  // namespace motet
