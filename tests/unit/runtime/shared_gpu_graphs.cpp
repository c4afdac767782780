// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>

#include "unit/runtime/recorded_plans.hpp"

#include <cstdlib>

// Ranks that share a GPU replay what they compute, to the last bit as kernel by kernel.
namespace {

template <class Model, class Numbers>
using on_gpu = pipeline_trainer<Model, motet::cuda::device, Numbers,
                                thread_ranks<shared_gpu::world, shared_gpu::endpoint>>;

template <class Model = towers, class Numbers = fp32>
void compare(const plan& order_of, int share = 0) {
  compare_recorded<Model>(
      order_of, [&](const score& order, const pipeline_config& config, bool graphs, const auto& see) {
        on_gpu<Model, Numbers> many(order, config);
        see(many.of());
        many.ranks().world().share(share);
        const auto recorder_of = [&](std::int32_t rank) -> auto& {
          return many.ranks().end(rank).on().template part<motet::cuda::recorder>();
        };
        for (std::int32_t r = 0; r < order_of.cluster.ranks; ++r) recorder_of(r).want(graphs);
        many.prepare();
        recorded_course found;
        for (int step = 0; step < recorded_steps; ++step) {
          const test_data data = recorded_data(step);
          const step_result told = many.step(data.batch<Model>(), 1e-3);
          found.losses.push_back(told.loss);
          found.norms.push_back(told.gradient_norm);
        }
        for (std::int32_t r = 0; r < order_of.cluster.ranks; ++r) {
          found.replayed.push_back(recorder_of(r).replayed());
          CHECK(recorder_of(r).not_recorded() == "");
        }
        const auto weights = many.weights();
        found.weights.assign(weights.begin(), weights.end());
        return found;
      });
}

}  // namespace

TEST_CASE("plans of all kinds") {
#if !defined(__CUDACC__)
  // As late as it may, at any time, as soon as it may: another one for each plan.
  const char* const asked = std::getenv("MOTET_FAKE_SEED");
  std::uint64_t seed = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 0;
#endif
  for (const auto& [name, order_of] : plans_to_record()) {
    CAPTURE(name);
#if !defined(__CUDACC__)
    CAPTURE(seed);
    emulation::seed(seed++);
#endif
    compare(order_of);
  }
}

TEST_CASE("copies of weights in bf16 follow, and experts get their rows") {
  compare<towers, mixed_bf16>(plans_to_record()[0].second);
  compare<expert_towers>(of(
      3, "batch_sync", {on_ranks("picture", 2, {1, 1, 1, 1}, 2), on_ranks("caption", 0, {1, 1, 1, 2}, 2)}));
  compare<expert_towers>(of(3, "batch_sync",
                            {on_ranks("picture", 2, {1, 1, 1, 1}, 2),
                             laws::sharing_experts(2, on_ranks("caption", 0, {1, 2, 1, 1}, 2))}));
}

TEST_CASE("each rank on its own share of the multiprocessors") { compare(plans_to_record()[1].second, 32); }
