// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/front/ranks/compiled.hpp>
#include <motet/front/ranks/hosted_ranks.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/runtime/ranks/rendezvous_of.hpp>
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi/mpi_forum.hpp>
#endif
#endif

#include <algorithm>
#include <cstdio>
#include <string>

namespace motet {

namespace detail {

#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
// Processes meet by MPI where it runs, else by TCP.
inline forum forum_of(const launched& by) {
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) return mpi::everyone();
#endif
  return forum(rendezvous_of(by, read_environment()));
}
struct nccl_meeting {
  launched by = find_launch(read_environment());
  nccl::session session{forum_of(by), {.local_rank = by.local_rank, .patience = {}}};
};
// The rank of this process, with a GPU of its own. The ranks meet first.
class nccl_rank : nccl_meeting, public process_rank<nccl::world, nccl::endpoint> {
 public:
  using process_rank::process_rank;
};
#endif

}  // namespace detail

// On GPUs: one rank that has one, ranks that are threads of this process and share one, or one in each of
// many processes with a GPU each, which talk by NCCL.
template <>
struct ranks_on<cuda::device> {
  template <class Numbers>
  static std::unique_ptr<ranks_here<Numbers, cuda::device>> make(
      const launched_world& world, const model_table<cuda::context, Numbers>& model, proven_ranks wanted,
      const trainer_options& how) {
    // Lanes divide multiprocessors where a plan says so; else the GPU gives them to whoever comes, and to
    // lanes that fill what others leave.
    if (says_shares(wanted.plan)) {
      const list<double> shares = shares_of_lanes(wanted.plan);
      wanted.config.each.shares.assign(shares.begin(), shares.end());
    } else {
      const list<bool> yields = yields_of_lanes(wanted.plan);
      wanted.config.each.yields.assign(yields.begin(), yields.end());
    }
    if (world.is_one_of_many()) {
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
      return std::make_unique<hosted_ranks<Numbers, cuda::device, detail::nccl_rank>>(model,
                                                                                      std::move(wanted));
#else
      fail(
          gpu_library_missing,
          "NCCL, which carries messages between processes with a GPU each; without it ranks are threads that "
          "share one (--ranks)");
#endif
    }
    const auto lanes = static_cast<int>(shares_of_lanes(wanted.plan).size());
    if (const std::string advice = cuda::advise_connections((1 + std::max(1, lanes)) * wanted.ranks());
        !advice.empty())
      std::fprintf(stderr, "%s\n", advice.c_str());
    using host = thread_ranks<shared_gpu::world, shared_gpu::endpoint>;
    auto made = std::make_unique<hosted_ranks<Numbers, cuda::device, host>>(model, std::move(wanted));
    made->host().world().share(how.processors);
    return made;
  }
};

}  // namespace motet
