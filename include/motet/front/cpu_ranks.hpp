// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/compiled.hpp>
#include <motet/front/launched_world.hpp>
#include <motet/front/ranks_here.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi/mpi_forum.hpp>
#include <motet/backend/transport/mpi/mpi_group.hpp>
#endif

#include <memory>

namespace motet {

// The ranks of a trainer live here, by what they compute on.
template <class Device>
struct ranks_on;

// On processors: as threads of this process, each a team, or one in each of many processes, which talk by
// MPI.
template <>
struct ranks_on<cpu::device> {
  template <class Model, class Numbers>
  static std::unique_ptr<ranks_here<Numbers, cpu::device>> make(const launched_world& world,
                                                                const score& order, pipeline_config config,
                                                                const run_identity& same,
                                                                const trainer_options& how) {
    if (how.fp8) fail(bad_training_option, "fp8 on processors: GPUs from sm_89 on multiply it");
    const auto& model = table_of_model<Model, cpu::context, Numbers>;
    config.each.threads = world.threads(world.is_one_of_many() ? 1 : order.ranks());
    if (!world.is_one_of_many())
      return std::make_unique<
          hosted_ranks<Numbers, cpu::device, thread_ranks<local::world, local::endpoint>>>(
          model, order, std::move(config), same);
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    if (world.has_mpi())
      return std::make_unique<hosted_ranks<Numbers, cpu::device, process_rank<mpi::world, mpi::endpoint>>>(
          model, order, std::move(config), same);
#endif
    fail(launch_without_mpi, describe(world.by()));
  }
};

}  // namespace motet
