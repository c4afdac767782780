// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/launch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const environment from_mpirun = {{"OMPI_COMM_WORLD_RANK", "5"},       {"OMPI_COMM_WORLD_SIZE", "8"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                 {"OMPI_UNIVERSE_SIZE", "8"},         {"PMIX_RANK", "5"}};
const environment from_torchrun = {
    {"RANK", "9"},       {"WORLD_SIZE", "16"},      {"LOCAL_RANK", "1"},      {"LOCAL_WORLD_SIZE", "8"},
    {"GROUP_RANK", "1"}, {"GROUP_WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
const environment from_srun = {{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"},
                               {"SLURM_NTASKS", "8"},  {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_NNODES", "2"}};
// A script that sbatch runs: one process, whatever the job is allowed.
const environment in_a_script = {{"SLURM_JOB_ID", "17"},
                                 {"SLURM_PROCID", "0"},
                                 {"SLURM_NTASKS", "8"},
                                 {"SLURM_LOCALID", "0"},
                                 {"SLURM_NNODES", "2"}};

environment both(const environment& a, const environment& b) {
  environment all = a;
  for (const auto& [name, value] : b) all[name] = value;
  return all;
}
std::string failure(const environment& of, const launch_wishes& wishes = {}) {
  try {
    find_launch(of, wishes);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("without a launcher a process is alone, or all ranks are its threads") {
  const launched alone = find_launch({{"HOME", "/root"}, {"PATH", "/bin"}});
  CHECK(alone.by == launcher::none);
  CHECK(alone.rank == 0);
  CHECK(alone.ranks == 1);
  CHECK(alone.threads == 1);
  CHECK(describe(alone) == "no launcher: rank 0 of 1 (no variable of a launcher is set)");
  const launched threads = find_launch({}, {.ranks = 6});
  CHECK(threads.ranks == 6);
  CHECK(threads.threads == 6);
  CHECK(describe(threads) ==
        "no launcher: 6 ranks as threads of one process (no variable of a launcher is set, --ranks 6)");
  CHECK(find_launch({}, {.ranks = 6, .can_connect = false}).threads == 6);
}

TEST_CASE("Open MPI") {
  const launched it = find_launch(from_mpirun);
  CHECK(it.by == launcher::open_mpi);
  CHECK(it.rank == 5);
  CHECK(it.ranks == 8);
  CHECK(it.local_rank == 1);
  CHECK(it.nodes == 2);
  CHECK(it.threads == 1);
  CHECK(describe(it) ==
        "Open MPI: rank 5 of 8, number 1 on its machine of 2 (OMPI_COMM_WORLD_RANK=5, "
        "OMPI_COMM_WORLD_SIZE=8, OMPI_COMM_WORLD_LOCAL_RANK=1, "
        "OMPI_COMM_WORLD_LOCAL_SIZE=4)");
  CHECK(find_launch(both(from_mpirun, {{"OMPI_MCA_orte_num_nodes", "3"}})).nodes == 3);
  const launched bare = find_launch({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(bare.local_rank == 1);
  CHECK(bare.nodes == 0);
  CHECK(has(describe(bare), "number 1 on its machine ("));
}

TEST_CASE("torchrun") {
  const launched it = find_launch(from_torchrun);
  CHECK(it.by == launcher::torchrun);
  CHECK(it.rank == 9);
  CHECK(it.ranks == 16);
  CHECK(it.local_rank == 1);
  CHECK(it.nodes == 2);
  CHECK(find_launch({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).ranks == 1);
  CHECK(find_launch({{"MASTER_ADDR", "node0"}, {"LOCAL_RANK", "0"}}).by == launcher::none);
}

TEST_CASE("Slurm") {
  const launched it = find_launch(from_srun);
  CHECK(it.by == launcher::slurm);
  CHECK(it.rank == 3);
  CHECK(it.ranks == 4);  // of the step, not of the job
  CHECK(it.local_rank == 1);
  CHECK(it.nodes == 2);
  const launched by_hand = find_launch({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
  CHECK(by_hand.by == launcher::slurm);
  CHECK(by_hand.ranks == 2);
  // Not started by srun: these are about the job.
  CHECK(find_launch(in_a_script).by == launcher::none);
  CHECK(find_launch({{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "8"}}).by == launcher::none);
  CHECK(find_launch(in_a_script, {.ranks = 4}).threads == 4);
}

TEST_CASE("PMIx is part of who uses it") {
  const launched it = find_launch(both(from_srun, {{"PMIX_RANK", "3"}}));
  CHECK(it.by == launcher::pmix);
  CHECK(it.rank == 3);
  CHECK(it.ranks == 4);
  CHECK(has(it.why, "PMIX_RANK=3, SLURM_PROCID=3"));
  const launched alone = find_launch({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
  CHECK(alone.by == launcher::pmix);
  CHECK(alone.ranks == 3);
  CHECK(has(failure({{"PMIX_RANK", "2"}}), "PMIX_RANK=2, but nothing says how many ranks there are"));
  CHECK(has(failure({{"PMIX_RANK", "2"}}), "MT-R22"));
  CHECK(has(failure(both(from_srun, {{"PMIX_RANK", "2"}})), "MT-R21"));
  CHECK(has(failure(both(from_mpirun, {{"PMIX_RANK", "2"}})), "MT-R21"));
}

TEST_CASE("a launcher within another") {
  // mpirun in a script of sbatch, and with its daemons started by srun, one on each machine.
  CHECK(find_launch(both(from_mpirun, in_a_script)).by == launcher::open_mpi);
  CHECK(find_launch(both(from_mpirun, {{"SLURM_JOB_ID", "17"},
                                       {"SLURM_STEP_ID", "0"},
                                       {"SLURM_PROCID", "1"},
                                       {"SLURM_STEP_NUM_TASKS", "2"}}))
            .rank == 5);
  // torchrun started by srun or mpirun, once on each machine.
  const environment once_each = {
      {"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  CHECK(find_launch(both(from_torchrun, once_each)).rank == 9);
  CHECK(find_launch(both(both(from_torchrun, once_each), {{"PMIX_RANK", "1"}})).rank == 9);
  CHECK(find_launch(both(from_torchrun,
                         {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "1"}}))
            .rank == 9);
  // Two that say the same.
  const launched same =
      find_launch(both(from_mpirun, {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}));
  CHECK(same.by == launcher::torchrun);
  CHECK(same.rank == 5);
}

TEST_CASE("launchers that disagree stop") {
  const std::string ranks = failure(both(from_mpirun, {{"RANK", "4"}, {"WORLD_SIZE", "8"}}));
  CHECK(has(ranks, "MT-R21"));
  CHECK(has(
      ranks,
      "torchrun says RANK=4, WORLD_SIZE=8; Open MPI says OMPI_COMM_WORLD_RANK=5, OMPI_COMM_WORLD_SIZE=8"));
  CHECK(has(failure(both(from_mpirun, {{"RANK", "5"}, {"WORLD_SIZE", "9"}})), "MT-R21"));
  // srun -n 8 mpirun -n 8: each of eight started eight.
  CHECK(has(failure(both(from_mpirun, {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "8"}})), "MT-R21"));
  CHECK(has(failure(both(from_torchrun, {{"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "32"}})), "MT-R21"));
  // The command line.
  const std::string line = failure(from_mpirun, {.ranks = 4});
  CHECK(has(line, "MT-R21"));
  CHECK(has(line, "--ranks 4"));
  CHECK(failure(from_mpirun, {.ranks = 8}) == "");
  CHECK(find_launch(both(from_mpirun, {{"OMPI_COMM_WORLD_RANK", "0"},
                                       {"OMPI_COMM_WORLD_SIZE", "1"},
                                       {"PMIX_RANK", "0"},
                                       {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
                    {.ranks = 4})
            .threads == 4);
}

TEST_CASE("what is no number, or out of range, or half, stops") {
  for (const char* text : {"", "x", "3x", " 3", "-1", "+3", "3.0", "99999999999"}) {
    CAPTURE(text);
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}) {
      const std::string problem = failure(both(from_mpirun, {{name, text}}));
      CHECK(has(problem, "MT-R20"));
      CHECK(has(problem, (std::string(name) + "=" + text).c_str()));
    }
    CHECK(has(failure(both(from_torchrun, {{"WORLD_SIZE", text}})), "MT-R20"));
    CHECK(has(failure(both(from_srun, {{"SLURM_PROCID", text}})), "MT-R20"));
  }
  CHECK(has(failure({{"RANK", "8"}, {"WORLD_SIZE", "8"}}), "RANK=8, WORLD_SIZE=8: ranks count from 0"));
  CHECK(has(failure({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), "MT-R20"));
  CHECK(has(failure(both(from_mpirun, {{"OMPI_COMM_WORLD_LOCAL_RANK", "4"}})), "MT-R20"));
  CHECK(has(failure({{"RANK", "1"}}), "RANK=1, but no WORLD_SIZE"));
  CHECK(has(failure({{"WORLD_SIZE", "2"}}), "WORLD_SIZE=2, but no RANK"));
  CHECK(has(failure({{"OMPI_COMM_WORLD_SIZE", "2"}}), "MT-R22"));
  CHECK(has(failure({{"SLURM_PROCID", "0"}}), "MT-R22"));
}

TEST_CASE("processes need a launcher, and something that connects them") {
  const std::string missing = failure({}, {.ranks = 4, .processes = true});
  CHECK(has(missing, "MT-R23"));
  CHECK(has(missing, "mpirun"));
  CHECK(has(failure({}, {.processes = true}), "MT-R23"));
  CHECK(has(failure(in_a_script, {.processes = true}), "MT-R23"));
  CHECK(has(failure(from_mpirun, {.can_connect = false}), "MT-R24"));
  CHECK(failure(from_mpirun, {.processes = true}) == "");
}

TEST_CASE("the real environment is read whole") {
  ::setenv("MOTET_TEST_VARIABLE", "a=b", 1);
  CHECK(read_environment().at("MOTET_TEST_VARIABLE") == "a=b");
}
