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
// A pod of Kubeflow's Trainer: its torch and jax runtimes. Every pod of an indexed job has its number.
const environment from_kubeflow = {{"PET_NNODES", "2"},          {"PET_NPROC_PER_NODE", "4"},
                                   {"PET_NODE_RANK", "1"},       {"PET_MASTER_ADDR", "run-node-0-0.run"},
                                   {"PET_MASTER_PORT", "29400"}, {"JOB_COMPLETION_INDEX", "1"}};
const environment from_jax = {{"JAX_NUM_PROCESSES", "4"},
                              {"JAX_PROCESS_ID", "2"},
                              {"JAX_COORDINATOR_ADDRESS", "run-node-0-0.run:6666"},
                              {"JOB_COMPLETION_INDEX", "2"}};
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
  // Where srun started nothing, these are about the job.
  CHECK(find_launch(in_a_script).by == launcher::none);
  CHECK(has(find_launch(in_a_script).why, "not started by srun: no SLURM_STEP_ID"));
  CHECK(find_launch({{"SLURM_JOB_ID", "17"}, {"SLURM_NTASKS", "8"}}).by == launcher::none);
  CHECK(find_launch(in_a_script, {.ranks = 4}).threads == 4);
  // Processes of a step that lost its number would each train all by itself.
  const std::string lost = failure(both(in_a_script, {{"SLURM_PROCID", "3"}}));
  CHECK(has(lost, "SLURM_PROCID=3, but no SLURM_STEP_ID"));
  CHECK(has(lost, "MT-R22"));
  CHECK(failure(both(both(in_a_script, {{"SLURM_PROCID", "3"}}), from_mpirun)) == "");
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

TEST_CASE("a launcher that starts one process on each machine leaves its ranks to that one") {
  const launched it = find_launch(from_kubeflow);
  CHECK(it.by == launcher::elastic);
  CHECK(it.rank == 4);
  CHECK(it.ranks == 8);
  CHECK(it.nodes == 2);
  CHECK(it.to_start == 4);
  CHECK(it.threads == 1);
  CHECK(describe(it) ==
        "PyTorch elastic: ranks 4 to 7 of 8, as processes of a machine of 2 (PET_NODE_RANK=1, PET_NNODES=2, "
        "PET_NPROC_PER_NODE=4)");
  // One machine alone has threads, unless each rank has a GPU.
  const environment lone = both(from_kubeflow, {{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}});
  CHECK(find_launch(lone).threads == 4);
  CHECK(find_launch(lone).to_start == 0);
  CHECK(find_launch(lone, {.apart = true}).to_start == 4);
  CHECK(find_launch(lone, {.ranks = 4}).threads == 4);
  CHECK(has(failure(lone, {.ranks = 3}), "MT-R21"));
  // Nobody counted here.
  const environment any = both(from_kubeflow, {{"PET_NPROC_PER_NODE", "auto"}});
  CHECK(find_launch(any).to_start == 0);
  CHECK(find_launch(any).ranks == 2);
  CHECK(find_launch(any, {.automatic = 8}).ranks == 16);
  CHECK(find_launch({{"PET_NNODES", "2"}, {"JOB_COMPLETION_INDEX", "1"}}).rank == 1);
  CHECK(find_launch({{"PET_NPROC_PER_NODE", "8"}}).by == launcher::none);
  CHECK(has(failure({{"PET_NNODES", "2"}}), "PET_NNODES=2, but no PET_NODE_RANK"));
  CHECK(has(failure({{"PET_NNODES", "1:4"}, {"PET_NODE_RANK", "0"}}), "PET_NNODES=1:4"));
  CHECK(has(failure(both(from_kubeflow, {{"PET_NPROC_PER_NODE", "0"}})), "MT-R20"));
  CHECK(has(failure(both(from_kubeflow, {{"PET_NPROC_PER_NODE", "2000000000"}})), "MT-R20"));
  CHECK(has(failure(from_kubeflow, {.can_connect = false}), "MT-R24"));
}

TEST_CASE("a process for each pod") {
  const launched it = find_launch(from_jax);
  CHECK(it.by == launcher::jax);
  CHECK(it.rank == 2);
  CHECK(it.ranks == 4);
  CHECK(it.local_rank == 0);
  CHECK(it.nodes == 4);
  CHECK(has(failure({{"JAX_PROCESS_ID", "1"}}), "JAX_PROCESS_ID=1, but no JAX_NUM_PROCESSES"));
  // A job that says how many pods belong together; else each is a run of its own.
  const launched pod = find_launch({{"JOB_COMPLETION_INDEX", "3"}, {"WORLD_SIZE", "4"}});
  CHECK(pod.by == launcher::kubernetes);
  CHECK(pod.rank == 3);
  CHECK(pod.local_rank == 0);
  CHECK(find_launch({{"JOB_COMPLETION_INDEX", "3"}}).by == launcher::none);
  CHECK(find_launch(both(from_torchrun, {{"JOB_COMPLETION_INDEX", "0"}})).rank == 9);
}

TEST_CASE("within a pod, who was started last is believed") {
  const environment torchrun = both(from_torchrun, from_kubeflow);
  CHECK(find_launch(torchrun).by == launcher::torchrun);
  CHECK(find_launch(torchrun).rank == 9);
  CHECK(find_launch(both(from_mpirun, {{"JOB_COMPLETION_INDEX", "0"}})).rank == 5);
  // PMIx beside a launcher that knows how many there are.
  CHECK(find_launch(both(from_jax, {{"PMIX_RANK", "2"}})).by == launcher::jax);
  CHECK(has(failure(both(from_jax, {{"PMIX_RANK", "3"}})),
            "JAX says JAX_PROCESS_ID=2, JAX_NUM_PROCESSES=4; PMIx says PMIX_RANK=3"));
  const std::string two = failure(both(from_jax, from_kubeflow));
  CHECK(has(two,
            "PyTorch elastic says PET_NODE_RANK=1, PET_NNODES=2; JAX says JAX_PROCESS_ID=2, "
            "JAX_NUM_PROCESSES=4"));
  CHECK(has(failure(both(from_kubeflow, {{"WORLD_SIZE", "8"}})), "MT-R21"));
}

TEST_CASE("a job that was started again says so") {
  CHECK(describe_restart({}).empty());
  CHECK(describe_restart({{"SLURM_RESTART_COUNT", "0"}}).empty());
  CHECK(describe_restart({{"SLURM_RESTART_COUNT", "1"}}) == "started again 1 time (SLURM_RESTART_COUNT=1)");
  CHECK(describe_restart({{"TORCHELASTIC_RESTART_COUNT", "3"}}) ==
        "started again 3 times (TORCHELASTIC_RESTART_COUNT=3)");
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
