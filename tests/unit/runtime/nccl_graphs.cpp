// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>

#include <algorithm>
#include <string_view>

#include "nccl_ranks.hpp"
#include "unit/runtime/recorded_plans.hpp"

// Ranks with a GPU each replay what they compute, to the last bit as kernel by kernel.
namespace {

using with_nccl =
    pipeline_trainer<towers, motet::cuda::device, fp32, process_rank<nccl::world, nccl::endpoint>>;

void compare(const plan& order_of) {
  const std::int32_t ranks = order_of.cluster.ranks;
  if (!laws::has_gpus(ranks)) return;
  compare_recorded<towers>(
      order_of, [&](const score& order, const pipeline_config& config, bool graphs, const auto& see) {
        recorded_course found;
        found.replayed.resize(static_cast<std::size_t>(ranks));
        laws::run_nccl_ranks(ranks, [&](nccl::session& here) {
          const std::int32_t rank = here.everyone().rank();
          with_nccl own(order, config);
          if (rank == 0) see(own.of());
          own.ranks().set_bound(200);  // emulated GPUs are slow
          auto& recorder = own.ranks().end(rank).on().template part<motet::cuda::recorder>();
          recorder.want(graphs);
          own.prepare();
          for (int step = 0; step < recorded_steps; ++step) {
            const test_data data = recorded_data(step);
            const step_result told = own.step(data.batch<towers>(), 1e-3);
            if (rank != 0) continue;
            found.losses.push_back(told.loss);
            found.norms.push_back(told.gradient_norm);
          }
          found.replayed[static_cast<std::size_t>(rank)] = recorder.replayed();
          CHECK(recorder.not_recorded() == "");
          const auto weights = own.weights();
          if (rank == 0) found.weights.assign(weights.begin(), weights.end());
        });
        return found;
      });
}

}  // namespace

// A recording does not depend on what carries messages: all plans replay on a shared GPU (shared_gpu_graphs),
// and here one with each kind of call.
TEST_CASE("stages, halves of backward, tensor groups and replicas") {
  const auto plans = plans_to_record();
  for (const char* wanted : {"1f1b", "zb_h1", "tensor", "replicas"}) {
    const auto at = std::find_if(plans.begin(), plans.end(),
                                 [&](const auto& each) { return std::string_view(each.first) == wanted; });
    REQUIRE(at != plans.end());
    CAPTURE(wanted);
    compare(at->second);
  }
}
