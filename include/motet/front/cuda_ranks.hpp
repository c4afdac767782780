// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/front/trainer.hpp>
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/runtime/ranks/rendezvous_of.hpp>
#endif

#include <cstdio>

namespace motet {

namespace detail {

#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
// By MPI where it runs, else by TCP.
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
  template <class Model, class Numbers>
  static std::unique_ptr<ranks_here<Numbers, cuda::device>> make(const launched_world& world,
                                                                 const score& order, pipeline_config config,
                                                                 const run_identity& same,
                                                                 const trainer_options& how) {
    const auto& model = table_of_model<Model, cuda::context, Numbers>;
    if (world.is_one_of_many()) {
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
      return std::make_unique<hosted_ranks<Numbers, cuda::device, detail::nccl_rank>>(
          model, order, std::move(config), same);
#else
      fail(
          gpu_library_missing,
          "NCCL, which carries messages between processes with a GPU each; without it ranks are threads that "
          "share one (--ranks)");
#endif
    }
    if (const std::string advice = cuda::advise_connections(2 * order.ranks()); !advice.empty())
      std::fprintf(stderr, "%s\n", advice.c_str());
    using host = thread_ranks<shared_gpu::world, shared_gpu::endpoint>;
    auto made =
        std::make_unique<hosted_ranks<Numbers, cuda::device, host>>(model, order, std::move(config), same);
    made->host().world().share(how.processors);
    return made;
  }
};

}  // namespace motet
