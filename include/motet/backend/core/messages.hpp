// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

namespace motet {

inline constexpr message mpi_failed{
    "MT-B01", "an MPI call failed", "a message is longer than its receiver wants, or a rank is gone",
    "See what MPI says; where the ranks run different programs, start all of them from one"};
inline constexpr message mpi_ranks_differ{
    "MT-B02", "MPI counts the ranks differently",
    "the processes were not started by mpirun, or by srun without PMIx, so each one is alone",
    "Start with mpirun -n RANKS PROGRAM, or srun --mpi=pmix"};
inline constexpr message mpi_not_ready{"MT-B03", "MPI cannot be used here",
                                       "no mpi::session is alive, or MPI lacks support for what is asked",
                                       "Make the session first in main, and keep it until the end"};
inline constexpr message group_disagrees{
    "MT-B04", "the members of a group do not do the same",
    "they call in different orders, or differ in sizes",
    "Let every member make the same calls on a group, in the same order, with the same sizes"};

inline constexpr message cut_but_alone{
    "MT-B05", "a net that is cut over ranks runs on a context without a spread",
    "the weights say that a tensor group shares the layer, and the context does not know the group",
    "Set context::shared for each microbatch, also in a dry run, or take the whole net"};

inline constexpr message cuda_failed{
    "MT-B10", "a CUDA call failed", "an earlier kernel went wrong, or the GPU is in a bad state",
    "Run under compute-sanitizer; where it says nothing, look at dmesg and nvidia-smi"};
inline constexpr message no_gpu{
    "MT-B11", "no GPU can be used here",
    "there is none, none is visible, or its driver is older than this program's CUDA",
    "Check nvidia-smi and CUDA_VISIBLE_DEVICES, and take a driver of 580 or newer for CUDA 13; or run on the "
    "CPU"};
inline constexpr message gpu_memory_full{
    "MT-B12", "the GPU has too little memory",
    "the plan needs more than is free, or another program holds some",
    "Take smaller batches, more parts, more ranks, or recompute; --explain says what is needed"};
inline constexpr message gpu_library_missing{
    "MT-B13", "a GPU library is missing",
    "the program was built without it, or it is not on the library path",
    "Install it (see docs/backend/cuda.md) and build again"};
inline constexpr message gpu_library_failed{"MT-B14", "a GPU library refused a call",
                                            "the shape, type or chip is not supported by this version",
                                            "Update the library, or choose the portable kernels"};
inline constexpr message gpu_share_refused{"MT-B15", "a share of a GPU's multiprocessors cannot be had",
                                           "chips split them in steps, and this is none",
                                           "Ask for a multiple of what the chip allows, as the message says"};
inline constexpr message gpu_taken_twice{
    "MT-B16", "two ranks have the same GPU", "there are more ranks on this machine than GPUs visible to them",
    "Start one rank for each GPU, or let them share it as threads of one process (shared_gpu)"};
inline constexpr message gpu_library_versions_differ{
    "MT-B17", "ranks have different versions of a GPU library", "machines were not installed alike",
    "Install the same version everywhere"};
inline constexpr message meeting_refused{
    "MT-B18", "the ranks could not meet", "address, port or token differ, or a rank did not start",
    "Check MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and MOTET_TOKEN of each rank"};
inline constexpr message gpu_shape_refused{
    "MT-B19", "a GPU operation does not take this shape",
    "a width or count is beyond what its kernels handle",
    "See the operation's page; take another width, or run this module on the CPU"};

inline constexpr message kernels_refused{
    "MT-B20", "the kernels that were asked for cannot run here",
    "MOTET_KERNELS is set for another machine, or is misspelt",
    "Name kernels that this processor has, or unset MOTET_KERNELS to take the best"};
inline constexpr message gpu_precision_refused{
    "MT-B21", "a GPU does not multiply in the precision that was asked for",
    "its chip is older than that precision", "Ask for bf16, or take a newer GPU"};

inline constexpr message threads_refused{
    "MT-B22", "so many threads cannot be made", "the system limits the threads or the memory of a user",
    "Ask for fewer threads (--threads), or see ulimit -u and the cgroup's pids.max"};

// The rows from here on are warnings, each said once: work goes on, but slower than it could.
inline constexpr message attention_library_missing{
    "MT-B30", "attention runs by own kernels, as cuDNN cannot be used",
    "the program was built without its headers, or libcudnn.so.9 and its parts were not found together, or "
    "they are older than 9.17",
    "Install cuDNN 9.17 or newer where the loader or LD_LIBRARY_PATH finds it, build with MOTET_CUDNN=ON; "
    "MOTET_QUIET=1 says nothing"};
inline constexpr message attention_off_library{
    "MT-B31", "some attention runs by own kernels, slower than by cuDNN",
    "cuDNN does not take the shape, or has no memory for it",
    "Take heads of a multiple of 8, a larger attention_settings::workspace, or a newer cuDNN "
    "(docs/backend/cuda.md); MOTET_QUIET=1 says nothing"};
inline constexpr message product_off_library{
    "MT-B32", "some products run by slower kernels",
    "cuBLASLt was not there when the program was built, or has nothing for the shape",
    "Build with cuBLASLt, take widths of a multiple of 8, or a newer library (docs/backend/cuda.md); "
    "MOTET_QUIET=1 says nothing"};
inline constexpr message work_not_recorded{
    "MT-B33", "work runs kernel by kernel, as it could not be recorded as a graph",
    "a call that cannot be recorded, or too little memory",
    "Report what it says; MOTET_CUDA_GRAPHS=0 asks for no graphs; MOTET_QUIET=1 says nothing"};
inline constexpr message fp8_not_used{
    "MT-B34", "fp8 was asked for, and some products run without it",
    "the chip is older than sm_89, sizes are no multiple of 16, or cuBLASLt has nothing for the shape",
    "Take sizes of a multiple of 16 on such a chip, or ask for bf16; MOTET_QUIET=1 says nothing"};
inline constexpr message input_not_pinned{
    "MT-B35", "memory of the host could not be pinned, so inputs are copied twice",
    "the system limits locked memory, or the memory is of a kind that cannot be",
    "Raise ulimit -l; MOTET_QUIET=1 says nothing"};
inline constexpr message product_choices_unreadable{
    "MT-B36", "a file of timed products is ignored", "it was damaged, edited, or written by another version",
    "Nothing: products are timed again, and the file is written anew; MOTET_QUIET=1 says nothing"};
inline constexpr message product_choices_unwritten{
    "MT-B37", "choices of timed products are not kept", "the folder cannot be written, or the disk is full",
    "Name a folder by MOTET_CACHE; MOTET_CACHE= keeps none; MOTET_QUIET=1 says nothing"};
inline constexpr message kernels_load_late{
    "MT-B38",
    "kernels are brought to the GPU at their first launch, where ranks may wait for each other for ever",
    "several ranks share a process, or NCCL is used, and CUDA began before it was asked to bring all of them "
    "first",
    "Set CUDA_MODULE_LOADING=EAGER for the program, or call motet::load_kernels_first() before anything of "
    "CUDA; MOTET_QUIET=1 says nothing"};

inline constexpr message memory_not_registered{
    "MT-B39", "NCCL copies messages and sums once more, as it could not register their memory",
    "the system limits locked memory, or memory of another kind was given",
    "NCCL_DEBUG=INFO says more, NCCL_LOCAL_REGISTER=0 does without; MOTET_QUIET=1 says nothing"};

inline constexpr message backend_messages[] = {mpi_failed,
                                               mpi_ranks_differ,
                                               mpi_not_ready,
                                               group_disagrees,
                                               cut_but_alone,
                                               cuda_failed,
                                               no_gpu,
                                               gpu_memory_full,
                                               gpu_library_missing,
                                               gpu_library_failed,
                                               gpu_share_refused,
                                               gpu_taken_twice,
                                               gpu_library_versions_differ,
                                               meeting_refused,
                                               gpu_shape_refused,
                                               attention_library_missing,
                                               attention_off_library,
                                               product_off_library,
                                               work_not_recorded,
                                               fp8_not_used,
                                               input_not_pinned,
                                               product_choices_unreadable,
                                               product_choices_unwritten,
                                               kernels_load_late,
                                               kernels_refused,
                                               gpu_precision_refused,
                                               threads_refused,
                                               memory_not_registered};

}  // namespace motet
