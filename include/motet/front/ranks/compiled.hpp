// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/measure_operations.hpp>
#include <motet/backend/transport/local/local_group.hpp>
#include <motet/front/ranks/ranks_here.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#endif

// Code that trains any model on ranks that are threads, or processes of MPI, makes features with it and
// writes its checkpoints comes by number type: MOTET_RANKS(extern, fp32) says that another file has it,
// MOTET_RANKS(, fp32) makes this file have it. It knows nothing of a model's type but the two losses that
// most have, so a program of several files, or one that is built often, defines MOTET_COMPILED_RANKS
// everywhere and compiles the files of compiled/ once (with CMake: link motet::compiled_ranks). Nothing else
// changes.

#define MOTET_THREAD_RANKS(KEYWORD, NUMBERS)                                                                 \
  KEYWORD template class motet::model_trainer<                                                               \
      motet::cpu::device, motet::NUMBERS, motet::thread_ranks<motet::local::world, motet::local::endpoint>>; \
  KEYWORD template std::unique_ptr<motet::ranks_here<motet::NUMBERS, motet::cpu::device>>                    \
  motet::ranks_here<motet::NUMBERS, motet::cpu::device>::make(                                               \
      const motet::launched_world&, const motet::model_table<motet::cpu::context, motet::NUMBERS>&,          \
      motet::ranks_wanted);                                                                                  \
  KEYWORD template double motet::cpu::device::measure_peak<motet::NUMBERS::value>();                         \
  KEYWORD template motet::operation_rates motet::cpu::measure_operations(                                    \
      motet::cpu::device&, motet::NUMBERS::value, motet::isize);                                             \
  MOTET_PAIR_LOSSES(KEYWORD, cpu::context, NUMBERS)
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#define MOTET_RANKS(KEYWORD, NUMBERS)                                             \
  MOTET_THREAD_RANKS(KEYWORD, NUMBERS)                                            \
  KEYWORD template class motet::model_trainer<motet::cpu::device, motet::NUMBERS, \
                                              motet::process_rank<motet::mpi::world, motet::mpi::endpoint>>;
#else
#define MOTET_RANKS(KEYWORD, NUMBERS) MOTET_THREAD_RANKS(KEYWORD, NUMBERS)
#endif

#if defined(MOTET_COMPILED_RANKS)
MOTET_RANKS(extern, fp32)
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
MOTET_RANKS(extern, mixed_bf16)
#endif
#endif
