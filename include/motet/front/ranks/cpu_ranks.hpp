// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/front/ranks/compiled.hpp>
#include <motet/front/ranks/hosted_ranks.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi/mpi_forum.hpp>
#include <motet/backend/transport/mpi/mpi_group.hpp>
#endif

#include <algorithm>
#include <memory>

namespace motet {

namespace detail {

// Where ranks may hold so many bytes, scores stay out that may want more in a step, and more than the
// plan's own: counted by a dry run of all ranks, the same in all processes.
template <class Numbers>
void keep_to_room(const model_table<cpu::context, Numbers>& model, proven_ranks& wanted) {
  const isize most = wanted.config.each.rooms.most;
  if (most == 0) return;
  isize own = 0;
  for (std::size_t k = 0; k < wanted.scores.orders.size(); ++k) {
    isize needed = 0;
    const model_trainer<cpu::device, Numbers, thread_ranks<local::world, local::endpoint>> dry(
        model, wanted.scores.orders[k], wanted.config);
    for (const rank_memory& each : dry.forecast()) needed = std::max(needed, each.total());
    if (k == 0) own = needed;
    else if (needed > std::max(most, own))
      wanted.scores.leave_out(
          k--, sentence({"a rank may need ", needed, " bytes, and may hold ", most, " (rooms.most)"}));
  }
}

}  // namespace detail

// Ranks on processors are threads of this process, each a team, or one in each of many processes, which talk
// by MPI.
template <>
struct ranks_on<cpu::device> {
  template <class Numbers>
  static std::unique_ptr<ranks_here<Numbers, cpu::device>> make(
      const launched_world& world, const model_table<cpu::context, Numbers>& model, proven_ranks wanted,
      const trainer_options& how) {
    if (how.fp8) fail(bad_training_option, "fp8 on processors: GPUs from sm_89 on multiply it");
    wanted.config.each.threads = world.threads(world.is_one_of_many() ? 1 : wanted.ranks());
    const list<double> shares = shares_of_lanes(wanted.plan);
    wanted.config.each.shares.assign(shares.begin(), shares.end());
    if (wanted.scores.orders.size() > 1) detail::keep_to_room(model, wanted);
    if (!world.is_one_of_many())
      return std::make_unique<
          hosted_ranks<Numbers, cpu::device, thread_ranks<local::world, local::endpoint>>>(model,
                                                                                           std::move(wanted));
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    // Kernels round unlike, and each rank updates its own copy of what several hold: copies would part.
    wanted.same.add("choice of kernels (MOTET_KERNELS)", cpu::kernel_name(cpu::current_kernel()));
    if (world.has_mpi())
      return std::make_unique<hosted_ranks<Numbers, cpu::device, process_rank<mpi::world, mpi::endpoint>>>(
          model, std::move(wanted));
#endif
    fail(launch_without_mpi, describe(world.by()));
  }
};

}  // namespace motet
