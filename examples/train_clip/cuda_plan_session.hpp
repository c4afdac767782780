// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "typed_plan_session.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu_group.hpp>
#if defined(MOTET_HAS_NCCL)
#include <motet/backend/transport/nccl_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/ranks/rendezvous_of.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi_place.hpp>
#endif
#endif

namespace motet::train_clip {

#if defined(MOTET_HAS_NCCL)
// By MPI where it runs, else by TCP.
inline meeting_place place_of(const launched& by) {
#if defined(MOTET_HAS_MPI)
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) return mpi::place();
#endif
  return meeting_place(rendezvous_of(by, read_environment()));
}
struct nccl_meeting {
  launched by = find_launch(read_environment());
  nccl::session session{place_of(by), {.local_rank = by.local_rank, .patience = {}}};
};
// The rank of this process, with a GPU of its own. The ranks meet first.
class nccl_rank : nccl_meeting, public process_rank<nccl::world, nccl::endpoint> {
 public:
  using process_rank::process_rank;
};
#endif

// Ranks are threads of this process, which share one GPU, or processes with a GPU each.
template <vit_config Picture, text_config Caption>
std::unique_ptr<plan_session> make_gpu_plan_session(const plan_task& task, session_maker alone) {
  using host = thread_ranks<shared_gpu::world, shared_gpu::endpoint>;
  if (task.config.trainer.parts != 1)
    fail(bad_option_value, "--plan has microbatches of its own; leave --accumulate out");
  if (task.by.ranks > task.by.threads) {
#if defined(MOTET_HAS_NCCL)
    if (task.config.precision == "bf16")
      return make_plan_session<cuda::device, Picture, Caption, mixed_bf16, nccl_rank>(task, alone);
    return make_plan_session<cuda::device, Picture, Caption, fp32, nccl_rank>(task, alone);
#else
    fail(gpu_library_missing,
         "NCCL, which carries messages between processes with a GPU each; without it ranks are threads that "
         "share one (--ranks)");
#endif
  }
  const int streams = 2 * static_cast<int>(task.by.ranks);
  if (const std::string advice = cuda::advise_connections(streams); !advice.empty())
    std::fprintf(stderr, "%s\n", advice.c_str());
  if (task.config.precision == "bf16")
    return make_plan_session<cuda::device, Picture, Caption, mixed_bf16, host>(task, alone);
  return make_plan_session<cuda::device, Picture, Caption, fp32, host>(task, alone);
}

}  // namespace motet::train_clip
